"""What probes and scrapers are told: alive whatever the store does, ready while it answers, and metrics that tell only what is known."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from importlib.metadata import version

import grpc
import grpc.aio
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from registry_bench import (
    NOT_SERVING,
    SERVICE_UNKNOWN,
    SERVING,
    WAIT_SECONDS,
    Store,
    ask,
    beat,
    check,
    dialled,
    publish,
    watch,
)

from p2p_registry import BackendError, RecordRefusedError, RegistryService, WorkerRecord, WorkerSummary
from p2p_registry import _health as health_module
from p2p_registry._health import MAX_WATCHERS, Health
from p2p_registry.cli import _side_port
from p2p_registry.cli._side_port import side_port
from p2p_registry.errors import AlreadyStartedError, BindError, SettingError
from p2p_registry.prometheus import RegistryMetrics
from p2p_registry.server import SERVICE_NAME, RegistryStub
from p2p_registry.serving import RegistryServer, ServerConfig
from p2p_registry.wire import (
    GetMetadataRequest,
    ListSourcesRequest,
    PublishMetadataRequest,
    SourceIdentity,
    SourceStatus,
    WorkerMetadata,
)

HERE = ServerConfig(listen="127.0.0.1:0")


async def test_the_server_is_alive_whatever_its_store_does_and_the_service_ready_while_it_answers() -> None:
    store = Store()
    store.gone = True  # from the start: that is no reason not to start
    async with RegistryServer(store, HERE) as server, dialled(server.address) as channel:
        assert (await check(channel, ""), await check(channel, SERVICE_NAME)) == (SERVING, NOT_SERVING)
        assert server.health.fault == "the store failed: no connection"
        store.gone = False
        await server.health.look()
        assert (await check(channel, ""), await check(channel, SERVICE_NAME)) == (SERVING, SERVING)
        assert server.health.fault is None


async def test_a_store_that_keeps_silent_is_not_ready_and_probes_do_not_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health_module, "PING_SECONDS", 0.01)
    store = Store()
    async with RegistryServer(store, HERE) as server, dialled(server.address) as channel:
        store.silent = True
        await server.health.look()
        assert server.health.fault == "the store didn't answer within 0 s"
        monkeypatch.setattr(health_module, "PING_SECONDS", 1e6)
        looking = asyncio.create_task(server.health.look())
        assert (await check(channel, ""), await check(channel, SERVICE_NAME)) == (SERVING, NOT_SERVING)
        looking.cancel()


async def test_a_server_is_started_once_and_goes_on_undisturbed() -> None:
    async with RegistryServer(Store(), HERE) as server, dialled(server.address) as channel:
        with pytest.raises(AlreadyStartedError, match="the registry's server was started or stopped before"):
            await server.__aenter__()
        assert await check(channel, SERVICE_NAME) == SERVING


async def test_a_failure_of_the_store_has_it_asked_at_once_and_a_store_that_answers_stays_ready() -> None:
    store = Store()
    async with RegistryServer(store, HERE) as server, dialled(server.address) as channel:
        store.summaries_left = 0
        assert not (await RegistryStub(channel).ListSources(ListSourcesRequest())).instances
        assert await check(channel, SERVICE_NAME) == SERVING
        store.gone = True
        assert not (await RegistryStub(channel).ListSources(ListSourcesRequest())).instances
        assert (await check(channel, ""), await check(channel, SERVICE_NAME)) == (SERVING, NOT_SERVING)
        store.gone = False
        await server.health.look()
        assert await check(channel, SERVICE_NAME) == SERVING


async def test_the_store_is_asked_again_and_again_and_changes_are_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    store = Store()
    health = Health(store)
    assert health.fault == "the store wasn't asked yet"
    seen: list[str | None] = []
    enough = asyncio.Event()

    async def sleep(seconds: float) -> None:
        assert seconds == health_module.PING_EVERY_SECONDS
        seen.append(health.fault)
        store.gone = len(seen) in {2, 3}
        if len(seen) == 6:
            enough.set()
            await asyncio.Event().wait()

    looking = asyncio.create_task(health.look_forever(sleep=sleep))
    await enough.wait()
    looking.cancel()
    gone = "the store failed: no connection"
    assert seen == ["the store wasn't asked yet", None, gone, gone, None, None]
    assert [record.getMessage() for record in caplog.records] == [
        "ready: the store answers",
        f"not ready: {gone}",
        "ready: the store answers",
    ]


@pytest.mark.parametrize(
    ("service", "states"),
    [
        ("", [SERVING, NOT_SERVING]),
        (SERVICE_NAME, [SERVING, NOT_SERVING, SERVING, NOT_SERVING]),
        ("other.Service", [SERVICE_UNKNOWN]),
    ],
)
async def test_who_watches_is_told_each_change_and_the_end(service: str, states: list[bytes]) -> None:
    store = Store()
    server = RegistryServer(store, HERE)
    await server.__aenter__()
    async with dialled(server.address) as channel, asyncio.timeout(WAIT_SECONDS):
        call = watch(channel, service)
        told = [await call.read()]
        for store.gone in (True, False):
            await server.health.look()
            if service == SERVICE_NAME:
                told.append(await call.read())
        closing = asyncio.create_task(server.__aexit__(None, None, None))
        while (state := await call.read()) is not grpc.aio.EOF:
            told.append(state)
        assert told == states
        assert await call.code() is grpc.StatusCode.OK
        await closing


async def test_another_service_is_not_found_and_a_watcher_too_many_is_turned_away() -> None:
    async with RegistryServer(Store(), HERE) as server, dialled(server.address) as channel:
        with pytest.raises(grpc.aio.AioRpcError, match=r"'other\.Service'") as caught:
            await check(channel, "other.Service")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        calls = [watch(channel, "") for _ in range(MAX_WATCHERS)]
        assert [await call.read() for call in calls] == [SERVING] * MAX_WATCHERS
        assert await watch(channel, "").code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@asynccontextmanager
async def listening(host: str = "127.0.0.1") -> AsyncIterator[str]:
    async with side_port(host, 0, {"/livez": lambda: (HTTPStatus.OK, b"ok\n")}) as address:
        yield address


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        ("GET /livez", 200, "ok\n"),
        ("GET /livez?verbose", 200, "ok\n"),
        ("HEAD /livez", 200, ""),
        ("GET /", 404, "there are /livez\n"),
        ("POST /livez", 405, "GET it\n"),
        ("", 405, "GET it\n"),
    ],
)
async def test_the_second_listener_answers_what_is_there(request_line: str, status: int, body: str) -> None:
    async with listening() as address:
        found, head, said = await ask(address, request_line)
    assert (found, said) == (status, body)
    assert f"Content-Length: {len(body) or 3}" in head


async def test_it_listens_on_ipv6() -> None:
    async with listening("[::1]") as address:
        assert address.startswith("[::1]:")
        assert (await ask(address, "GET /livez"))[0] == 200


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host, port = address.split(":")
    async with asyncio.timeout(WAIT_SECONDS):
        reader, writer = await asyncio.open_connection(host, port)
        yield reader, writer
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def hung_up(reader: asyncio.StreamReader) -> bool:
    with suppress(ConnectionResetError):
        return await reader.read() == b""
    return True


async def test_who_talks_too_much_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_side_port, "CONNECTION_SECONDS", 1e6)
    async with listening() as address, connected(address) as (reader, writer):
        writer.write(b"x" * 100_000)
        assert await hung_up(reader)


async def test_who_says_nothing_holds_nobody_up_and_is_cut_off_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_side_port, "CONNECTION_SECONDS", 1e6)
    async with AsyncExitStack() as stack:
        async with listening() as address:
            reader, _ = await stack.enter_async_context(connected(address))
            assert (await ask(address, "GET /livez"))[0] == 200
        assert await hung_up(reader)


async def test_a_connection_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_side_port, "CONNECTION_SECONDS", 0.01)
    async with listening() as address, connected(address) as (reader, _):
        assert await hung_up(reader)


async def test_beyond_its_connections_it_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_side_port, "MOST_CONNECTIONS", 1)
    async with listening() as address, connected(address) as (reader, writer):
        async with connected(address) as (beyond, _):
            assert await hung_up(beyond)
        writer.write(b"GET /livez HTTP/1.0\r\n\r\n")
        assert (await reader.read()).endswith(b"ok\n")


async def test_a_taken_or_wrong_second_port_is_refused() -> None:
    async with listening() as address:
        with pytest.raises(BindError, match="another process listens there"):
            async with side_port("127.0.0.1", int(address.split(":")[1]), {}):
                pass
    with pytest.raises(SettingError, match="http_port=65536 is not a TCP port"):
        async with side_port("127.0.0.1", 65_536, {}):
            pass


class Scraped:
    """Samples of one scrape."""

    def __init__(self, metrics: RegistryMetrics) -> None:
        self.families = list(text_string_to_metric_families(generate_latest(metrics.registry).decode()))
        self.samples = [sample for family in self.families for sample in family.samples]

    def get(self, name: str, **labels: str) -> float | None:
        found = [sample.value for sample in self.samples if (sample.name, sample.labels) == (name, labels)]
        return found[0] if found else None

    def names(self) -> set[str]:
        return {sample.name for sample in self.samples}


async def test_what_is_not_known_has_no_series_and_closed_words_are_there_from_the_start() -> None:
    scraped = Scraped(RegistryMetrics(backend="redis", scheme="blue"))
    assert scraped.get("p2p_registry_backend_up") is None
    assert "p2p_registry_sources" not in scraped.names()
    assert scraped.get("p2p_registry_rpcs_total", method="UpdateStatus", code="UNAUTHENTICATED") == 0
    assert scraped.get("p2p_registry_heartbeats_total", result="refused", load="unknown") == 0
    assert scraped.get("p2p_registry_reaped_total", action="removed") == 0
    assert scraped.get("p2p_registry_backend_errors_total", op="update_state") == 0
    labels = {"component": "server", "version": version("p2p-registry"), "backend": "redis", "scheme": "blue"}
    assert scraped.get("mx_build_info", **labels) == 1


async def test_calls_heartbeats_and_sources_are_counted() -> None:
    metrics = RegistryMetrics(backend="memory")
    backend = metrics.watching(Store())
    async with RegistryServer(backend, HERE, observer=metrics) as server, dialled(server.address) as channel:
        stub = RegistryStub(channel)
        source_id = await publish(stub, "a")
        await publish(stub, "b")
        assert (await beat(stub, source_id, "a", 0.0)).success
        assert (await beat(stub, source_id, "a", 0.9)).success
        assert (await beat(stub, source_id, "a")).success
        assert not (await beat(stub, source_id, "lost", 0.1)).success
        await stub.GetMetadata(GetMetadataRequest(mx_source_id=source_id, worker_id="a"))
        await stub.ListSources(ListSourcesRequest())
    scraped = Scraped(metrics)
    assert scraped.get("p2p_registry_heartbeats_total", result="accepted", load="known") == 2
    assert scraped.get("p2p_registry_heartbeats_total", result="accepted", load="unknown") == 1
    assert scraped.get("p2p_registry_heartbeats_total", result="refused", load="known") == 1
    counts = {"PublishMetadata": 2, "UpdateStatus": 4, "GetMetadata": 1, "ListSources": 1}
    for method, count in counts.items():
        assert scraped.get("p2p_registry_rpcs_total", method=method, code="OK") == count
        assert scraped.get("p2p_registry_rpc_duration_seconds_count", method=method) == count
    statuses = {"UNKNOWN": 1, "INITIALIZING": 0, "READY": 1, "STALE": 0}
    assert {status: scraped.get("p2p_registry_sources", status=status) for status in statuses} == statuses
    assert scraped.get("p2p_registry_backend_up") == 1


async def test_a_record_that_no_store_could_keep_is_the_publishers_fault_not_the_stores() -> None:
    class Choosy(Store):
        async def publish(self, record: WorkerRecord) -> None:
            raise RecordRefusedError(f"worker {record.summary.key.worker_id!r} has no place")

    metrics = RegistryMetrics(backend="memory")
    service = RegistryService(metrics.watching(Choosy()), store_failed=lambda: pytest.fail("it didn't"))
    request = PublishMetadataRequest(
        identity=SourceIdentity(model_name="m"), worker=WorkerMetadata(), worker_id="__attributes__"
    )
    answer = await service.publish_metadata(request)
    assert (answer.success, answer.message) == (False, "worker '__attributes__' has no place")
    assert Scraped(metrics).get("p2p_registry_backend_errors_total", op="publish") == 0


async def test_a_store_that_fails_takes_its_numbers_with_it_and_is_counted() -> None:
    store = Store()
    metrics = RegistryMetrics(backend="memory")
    backend = metrics.watching(store)
    await backend.summaries(None)
    await backend.ping()
    assert Scraped(metrics).get("p2p_registry_sources", status="READY") == 0
    store.gone = True
    for call in (backend.summaries(None), backend.ping()):
        with pytest.raises(BackendError):
            await call
    scraped = Scraped(metrics)
    assert "p2p_registry_sources" not in scraped.names()
    assert scraped.get("p2p_registry_backend_up") == 0
    assert scraped.get("p2p_registry_backend_errors_total", op="summaries") == 1
    assert scraped.get("p2p_registry_backend_errors_total", op="ping") == 1
    store.gone, store.silent = False, True
    with suppress(TimeoutError):
        async with asyncio.timeout(0):
            await backend.ping()
    assert Scraped(metrics).get("p2p_registry_backend_up") == 0


async def test_refused_calls_are_counted_by_their_code() -> None:
    metrics = RegistryMetrics(backend="memory")
    config = ServerConfig(listen="127.0.0.1:0", max_requests_per_second=1)
    async with RegistryServer(Store(), config, observer=metrics) as server, dialled(server.address) as channel:
        calls = [RegistryStub(channel).ListSources(ListSourcesRequest()) for _ in range(20)]
        codes = [(await call.code()).name for call in calls]
    scraped = Scraped(metrics)
    for code in ("OK", "RESOURCE_EXHAUSTED"):
        assert scraped.get("p2p_registry_rpcs_total", method="ListSources", code=code) == codes.count(code) > 0


async def test_bytes_that_are_no_request_are_refused_counted_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    metrics = RegistryMetrics(backend="memory")
    async with RegistryServer(Store(), HERE, observer=metrics) as server, dialled(server.address) as channel:
        for method in ("PublishMetadata", "UpdateStatus", "ListSources", "GetMetadata"):
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICE_NAME}/{method}")
            with pytest.raises(grpc.aio.AioRpcError, match="the request can't be read: ") as refused:
                await call(b"\xff\xff\xff")
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    scraped = Scraped(metrics)
    assert scraped.get("p2p_registry_rpcs_total", method="UpdateStatus", code="INVALID_ARGUMENT") == 1
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


async def test_a_call_that_breaks_is_no_success_in_the_counts() -> None:
    class Broken(Store):
        async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
            if source_id is not None:
                raise RuntimeError("a fault of the store's code")
            return await super().summaries(source_id)

    metrics = RegistryMetrics(backend="memory")
    async with RegistryServer(Broken(), HERE, observer=metrics) as server, dialled(server.address) as channel:
        call = RegistryStub(channel).ListSources(ListSourcesRequest(identity=SourceIdentity(model_name="m")))
        assert await call.code() is grpc.StatusCode.UNKNOWN
    scraped = Scraped(metrics)
    assert scraped.get("p2p_registry_rpcs_total", method="ListSources", code="UNKNOWN") == 1
    assert scraped.get("p2p_registry_rpcs_total", method="ListSources", code="OK") == 0


async def test_a_reaper_that_breaks_is_told_loudly(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Store):
        async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
            raise RuntimeError(f"a fault of the store's code, asked for {source_id}")

    async with RegistryServer(Broken(), HERE) as server:
        await asyncio.wait(server._tasks[:1])
    (critical,) = [record for record in caplog.records if record.levelname == "CRITICAL"]
    assert critical.getMessage() == "registry-reaper has ended, and nothing does its work: restart"


async def test_reaped_workers_are_counted() -> None:
    metrics = RegistryMetrics(backend="memory")
    now_ms = 1_800_000_000_000
    service = RegistryService(metrics.watching(Store()), now_ms=lambda: now_ms)
    worker = WorkerMetadata(status=SourceStatus.SOURCE_STATUS_READY)
    await service.publish_metadata(
        PublishMetadataRequest(identity=SourceIdentity(model_name="m"), worker=worker, worker_id="a")
    )
    for age_ms in (90_001, 3_600_000):
        now_ms += age_ms
        await service.reap()
    scraped = Scraped(metrics)
    assert scraped.get("p2p_registry_reaped_total", action="marked_stale") == 1
    assert scraped.get("p2p_registry_reaped_total", action="removed") == 1
