"""Asks the authorizers of a reporter about one stream; whatever they do, what comes out is a decision."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from traceback import extract_tb

from loadmonitor_worker._describe import line_of
from loadmonitor_worker.authorization import (
    AllowAll,
    BearerTokenAuthorizer,
    CallMetadata,
    CertificateAuthorizer,
    PeerIdentity,
)
from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.interfaces import Authorizer

_logger = logging.getLogger(__name__)
_FAILED = "this worker's authorizer failed: its log says how"


def configured_authorizers(config: ReporterConfig) -> list[Authorizer]:
    """Return the authorizers that the settings ask for; all of them must agree.

    Raises:
        CredentialFileError: The file of tokens can't be used.
    """
    chosen: list[Authorizer] = []
    if config.allow_router:
        router_ids: dict[str, list[str]] = {}
        for text in config.allow_router:
            name, _, router_id = text.partition("=")
            router_ids.setdefault(name, []).append(router_id)
        chosen.append(CertificateAuthorizer(router_ids))
    if config.auth_token_file is not None:
        chosen.append(BearerTokenAuthorizer(config.auth_token_file))
    return chosen or [AllowAll()]


def identify(address: str, auth_context: Mapping[str, Iterable[bytes]]) -> PeerIdentity:
    """Return who a peer is, from what gRPC says of its connection."""
    names = auth_context.get("x509_subject_alternative_name", ())
    return PeerIdentity(address, frozenset(name.decode("utf-8", "replace") for name in names))


def first_refusal(
    authorizers: Sequence[Authorizer], peer: PeerIdentity, metadata: CallMetadata, router_id: str
) -> str | None:
    """Return why the first authorizer that refuses does so, or None when none does; one that fails refuses."""
    for authorizer in authorizers:
        try:
            refusal: object = authorizer.refusal(peer, router_id, metadata)
        except Exception as error:  # noqa: BLE001 - somebody else's code, which must not let anybody in by failing
            # Without its text, in which a secret may stand: where it was raised is enough to find it.
            where = extract_tb(error.__traceback__)[-1]
            place = f"{PurePath(where.filename).name}:{where.lineno}"
            _logger.warning("the authorizer failed with %s at %s", type(error).__name__, place)
            return _FAILED
        if refusal is None:
            continue
        return line_of(refusal) if isinstance(refusal, str) and refusal.strip() else "no reason given"
    return None
