from dataclasses import dataclass, field
from loadmonitor_router.credentials import Credentials as Credentials
from loadmonitor_router.errors import CredentialFileError as CredentialFileError

@dataclass(frozen=True, slots=True)
class TlsMaterial:
    ca: bytes
    certificate: bytes | None = ...
    key: bytes | None = field(default=None, repr=False)

def read_tls(given: Credentials) -> TlsMaterial | None: ...
def read_metadata(given: Credentials) -> tuple[tuple[str, str], ...]: ...
