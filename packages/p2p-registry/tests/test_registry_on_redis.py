"""A served registry while its Redis is lost and comes back: what probes, publishers and pullers see."""

from redis_server import RedisServer
from registry_bench import SERVING, beat, check, dialled, publish

from p2p_registry import open_backend
from p2p_registry.prometheus import RegistryMetrics
from p2p_registry.server import RegistryStub
from p2p_registry.serving import RegistryServer, ServerConfig
from p2p_registry.wire import GetMetadataRequest, ListSourcesRequest


async def test_while_the_store_is_lost_calls_are_refused_in_words_and_the_registry_is_alive_but_not_ready() -> None:
    metrics = RegistryMetrics(backend="redis")
    with RedisServer() as redis:
        backend = metrics.watching(await open_backend(f"redis://127.0.0.1:{redis.port}"))
        config = ServerConfig(listen="127.0.0.1:0")
        async with RegistryServer(backend, config, observer=metrics) as server, dialled(server.address) as channel:
            stub = RegistryStub(channel)
            source_id = await publish(stub, "w")
            assert (await beat(stub, source_id, "w", 0.0)).success
            assert server.health.fault is None

            redis.kill()
            await server.health.look()
            assert str(server.health.fault).startswith("the store failed")
            refused = await beat(stub, source_id, "w", 0.0)
            assert not refused.success
            assert "the store failed" in refused.message
            assert not (await stub.ListSources(ListSourcesRequest())).instances
            assert not (await stub.GetMetadata(GetMetadataRequest(mx_source_id=source_id, worker_id="w"))).found
            assert await check(channel) == SERVING  # alive: a restart of the registry would mend nothing

            redis.start()
            await server.health.look()
            assert server.health.fault is None
            # Nothing was kept on disk: heartbeats are refused until the source publishes again, as its publisher does.
            assert "publish its metadata first" in (await beat(stub, source_id, "w", 0.0)).message
            await publish(stub, "w")
            assert (await beat(stub, source_id, "w", 0.0)).success
        await backend.aclose()
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
    }
    for operation in ("update_state", "summaries", "get", "ping"):
        assert samples["p2p_registry_backend_errors_total", operation] == 1
    assert samples["p2p_registry_rpcs_total", "UpdateStatus", "OK"] == 4
