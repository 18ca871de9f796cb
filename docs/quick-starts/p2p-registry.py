"""A registry of weight sources, and one question to it."""

import asyncio

import grpc.aio

from p2p_registry import MemoryBackend, RegistryService
from p2p_registry.server import CHANNEL_OPTIONS, RegistryStub, add_registry_service
from p2p_registry.wire import ListSourcesRequest


async def main() -> None:
    """Serve from memory; nobody has published yet."""
    server = grpc.aio.server(options=CHANNEL_OPTIONS)
    add_registry_service(RegistryService(MemoryBackend()), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=CHANNEL_OPTIONS) as channel:
        listed = await RegistryStub(channel).ListSources(ListSourcesRequest())
    print(len(listed.instances), "sources")
    await server.stop(grace=None)


asyncio.run(main())
