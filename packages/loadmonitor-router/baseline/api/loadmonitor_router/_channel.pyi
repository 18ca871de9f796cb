import grpc.aio
from collections.abc import Sequence
from loadmonitor_router._credential_files import TlsMaterial as TlsMaterial

def make_channel(address: str, tls: TlsMaterial | None, options: Sequence[tuple[str, int | str]]) -> grpc.aio.Channel: ...
