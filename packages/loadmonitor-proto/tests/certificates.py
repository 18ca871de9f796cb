"""Certificates and keys for tests, made on the spot, as the files that the settings name."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in files."""

    cert: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    """A CA whose files lie in a folder of their own."""

    folder: Path
    ca: trustme.CA = field(default_factory=trustme.CA)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.ca.cert_pem.write_to_path(self.ca_file)

    @property
    def ca_file(self) -> Path:
        return self.folder / "ca.pem"

    def issue(self, name: str, *identities: str, ended_days_ago: int | None = None) -> Pair:
        """Write a certificate for the identities, by default the loopback address; the same name again overwrites it."""
        end = datetime.now(UTC) - timedelta(days=ended_days_ago or -365)
        leaf = self.ca.issue_cert(*(identities or ("127.0.0.1",)), not_before=end - timedelta(days=700), not_after=end)
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        pair.cert.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        leaf.private_key_pem.write_to_path(pair.key)
        return pair
