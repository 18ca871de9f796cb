import grpc.aio
from dataclasses import dataclass, field
from loadmonitor_router._channel import make_channel as make_channel
from loadmonitor_router._credential_files import TlsMaterial as TlsMaterial, read_metadata as read_metadata, read_tls as read_tls
from loadmonitor_router.credentials import Credentials as Credentials

@dataclass(frozen=True, slots=True)
class Dialling:
    address: str
    options: tuple[tuple[str, int | str], ...]
    tls: TlsMaterial | None
    metadata: tuple[tuple[str, str], ...] = field(repr=False)
    def channel(self) -> grpc.aio.Channel: ...

def read_dialling(address: str, credentials: Credentials) -> Dialling: ...
