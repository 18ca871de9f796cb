"""Who may register which router_id: the ways that come with this package, and what they are told of a peer.

A decision is made once a stream, at its `register`. Whatever goes wrong while it is made refuses the router.
"""

import hmac
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from loadmonitor_worker.errors import ConfigError, CredentialFileError

_logger = logging.getLogger(__name__)
_SETTING = "auth_token_file"
_LONGEST_FILE = 65_536


@dataclass(frozen=True, slots=True)
class PeerIdentity:
    """Who is at the other end of a stream.

    Attributes:
        address: Where it dials from, in gRPC's words; anybody can have it.
        names: Subject alternative names of its client certificate, which a client CA of this worker vouches for. Empty
            without a certificate.
    """

    address: str
    names: frozenset[str] = frozenset()


class CallMetadata(Mapping[str, tuple[str | bytes, ...]]):
    """Metadata of a call, all values of a key in the order of arrival; its repr shows no value, because some are secret."""

    def __init__(self, pairs: Iterable[tuple[str, str | bytes]]) -> None:
        """Collect the values of each key."""
        self._values: dict[str, tuple[str | bytes, ...]] = {}
        for key, value in pairs:
            self._values[key] = (*self._values.get(key, ()), value)

    def __getitem__(self, key: str) -> tuple[str | bytes, ...]:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"CallMetadata({', '.join(self._values)})"


class AllowAll:
    """Everybody who reaches the port may register any router_id: the default."""

    def refusal(self, peer: PeerIdentity, router_id: str, metadata: CallMetadata) -> str | None:  # noqa: ARG002 - the Protocol's
        """Return None."""
        return None


class CertificateAuthorizer:
    """A router may register the ids that belong to a name of its client certificate.

    Who holds a certificate of the client CA can therefore neither take nor end another router's session.
    """

    def __init__(self, router_ids: Mapping[str, Iterable[str]]) -> None:
        """Take the allowed ids.

        Args:
            router_ids: By subject alternative name (a DNS name, an address or a URI such as a SPIFFE id), the ids it may
                register; one that ends in `*` stands for all that start so.

        Raises:
            ConfigError: A name has no id.
        """
        self._router_ids = {name: frozenset(ids) for name, ids in router_ids.items()}
        for name, ids in self._router_ids.items():
            if not name or not ids or "" in ids:
                raise ConfigError(
                    f"router_ids[{name!r}]={sorted(ids)} is not allowed: a name, and at least one id, are"
                )

    def refusal(self, peer: PeerIdentity, router_id: str, metadata: CallMetadata) -> str | None:  # noqa: ARG002 - the Protocol's
        """Return None when one of the peer's names may register the id, else why not."""
        if not peer.names:
            return "this worker knows routers by their client certificate, and this connection has none"
        for name in peer.names:
            if any(_covers(pattern, router_id) for pattern in self._router_ids.get(name, ())):
                return None
        return (
            f"router_id {router_id!r} doesn't belong to the certificate of {', '.join(sorted(peer.names))}: register an id "
            "that does, or have the worker allow this one"
        )


class BearerTokenAuthorizer:
    """A router may register when its metadata has `authorization: Bearer TOKEN` with a token of a file.

    The file holds one token a line, so that the next one can be allowed before routers change to it, and the last one be
    taken out when they have. It is read again at each decision; where it can't be, the tokens read before stand, and the log
    says so once.
    """

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            CredentialFileError: It can't be read, or holds no token.
        """
        self._path = path
        self._told: str | None = None
        self._digests = self._read()

    def refusal(self, peer: PeerIdentity, router_id: str, metadata: CallMetadata) -> str | None:  # noqa: ARG002 - the Protocol's
        """Return None for a token of the file, else why not."""
        self._refresh()
        values = metadata.get("authorization", ())
        if len(values) != 1:
            return f"{len(values)} authorization values were sent: one bearer token is needed (--token-file)"
        text = values[0] if isinstance(values[0], str) else ""
        scheme, _, token = text.partition(" ")
        digest = _digest(token.strip())
        # All of them, each in constant time: how long this takes tells nothing of a token.
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        if scheme.lower() == "bearer" and any(matches):
            return None
        return "the bearer token isn't one that this worker takes: give the router the worker's token (--token-file)"

    def _refresh(self) -> None:
        try:
            self._digests = self._read()
        except CredentialFileError as error:
            if self._told != str(error):
                self._told = str(error)
                _logger.warning("%s; the tokens read before stand", error)
        else:
            if self._told is not None:
                self._told = None
                _logger.info("%s can be read again", self._path)

    def _read(self) -> tuple[bytes, ...]:
        try:
            with self._path.open("rb") as file:
                content = file.read(_LONGEST_FILE + 1)
        except OSError as error:
            raise CredentialFileError(_SETTING, self._path, f"{error.strerror}") from None
        if len(content) > _LONGEST_FILE:
            raise CredentialFileError(_SETTING, self._path, f"it is longer than {_LONGEST_FILE} bytes")
        lines = [line.strip() for line in content.split(b"\n")]
        tokens = [line.decode("latin-1") for line in lines if line]
        if not tokens:
            raise CredentialFileError(_SETTING, self._path, "it holds no token: write one a line")
        if not all(token.isascii() and token.isprintable() and " " not in token for token in tokens):
            raise CredentialFileError(_SETTING, self._path, "a token has other characters than printable ASCII ones")
        return tuple(map(_digest, tokens))


def _digest(token: str) -> bytes:
    """Return what is kept of a token, and compared: of one length, whatever the token's is."""
    return sha256(token.encode()).digest()


def _covers(pattern: str, router_id: str) -> bool:
    return router_id.startswith(pattern[:-1]) if pattern.endswith("*") else router_id == pattern
