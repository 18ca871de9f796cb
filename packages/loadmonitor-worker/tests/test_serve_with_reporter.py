"""The reporter around a standalone servicer, here functions of its shape; the released one runs in the workspace's tests."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

import grpc.aio
import pytest
from worker_bench import Router

from loadmonitor_proto import LoadReport
from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import BindError, LoadReporter, MissingHookError, ReporterConfig, ServingModeError
from loadmonitor_worker.integrations import request_manager_source, serve_with_reporter
from loadmonitor_worker.integrations.servicer import SERVICER_IMPL_VARIABLE

Hook = Callable[[Any, Any, Any], Awaitable[None]]
ARGS = SimpleNamespace(dp_size=2)


class Manager:
    """A request manager of two idle ranks."""

    async def get_loads(self, include: list[str], dp_rank: int | None = None) -> Sequence[object]:
        assert (include, dp_rank) == (["core"], None)
        names = ["running_reqs", "waiting_reqs", "waiting_uncached_tokens", "used_tokens", "total_tokens"]
        idle = dict.fromkeys([f"num_{name}" for name in names], 0)
        idle |= {"max_total_num_tokens": 100, "max_running_requests": 10}
        ratios = dict.fromkeys(["token_usage", "gen_throughput", "cache_hit_rate", "utilization"], 0.0)
        return [SimpleNamespace(dp_rank=rank, timestamp=0.0, **idle, **ratios) for rank in (0, 1)]


class Servicer:
    """A servicer whose end the test decides."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.cleaned_up = False

    async def serve(
        self, server_args: object, model_info: object = None, on_request_manager_ready: Hook | None = None
    ) -> str:
        assert model_info == "info"
        try:
            if on_request_manager_ready is not None:
                await on_request_manager_ready(Manager(), server_args, {})
            self.ready.set()
            return await self.end
        finally:
            self.cleaned_up = True


async def serve_without_hook(server_args: object, model_info: object = None) -> str:
    assert model_info == "info"
    return f"served {server_args}"


async def first_report(address: str) -> LoadReport:
    async with grpc.aio.insecure_channel(address) as channel:
        router = Router(LoadMonitorStub(channel).Monitor())
        await router.register()
        return await router.report()


@pytest.mark.parametrize("ends_by", ["a result", "an exception", "cancellation"])
async def test_the_reporter_runs_from_when_the_manager_is_ready_until_the_servicer_ends(ends_by: str) -> None:
    servicer, started = Servicer(), list[LoadReporter]()
    serving = asyncio.create_task(
        serve_with_reporter(
            servicer.serve, ARGS, "info", config=ReporterConfig(port=0), on_reporter_ready=started.append
        )
    )
    await servicer.ready.wait()
    [reporter] = started
    assert [rank.dp_rank for rank in (await first_report(reporter.address)).ranks] == [0, 1]
    if ends_by == "cancellation":
        serving.cancel()
    elif ends_by == "an exception":
        servicer.end.set_exception(ZeroDivisionError())
    else:
        servicer.end.set_result("served")
    await asyncio.wait([serving])
    if ends_by == "cancellation":
        assert serving.cancelled()
    elif ends_by == "an exception":
        assert isinstance(serving.exception(), ZeroDivisionError)
    else:
        assert serving.result() == "served"
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(reporter.address.rpartition(":")[2]))


async def test_a_port_that_can_not_be_listened_on_fails_the_servicers_start() -> None:
    servicer = Servicer()
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as taken:
        config = ReporterConfig(port=taken.sockets[0].getsockname()[1])
        with pytest.raises(BindError):
            await serve_with_reporter(servicer.serve, ARGS, "info", config=config)
    assert servicer.cleaned_up
    assert not servicer.ready.is_set()


async def test_a_callback_of_ones_own_is_called_before_the_reporter_starts_and_may_fail_the_start() -> None:
    async def own(manager: object, args: object, info: object) -> None:
        assert isinstance(manager, Manager)
        assert (args, info) == (ARGS, {})
        raise ZeroDivisionError

    for port in (None, 0):
        with pytest.raises(ZeroDivisionError):
            await serve_with_reporter(
                Servicer().serve, ARGS, "info", config=ReporterConfig(port=port), on_request_manager_ready=own
            )


async def test_switched_off_the_servicer_is_called_as_it_is() -> None:
    off = ReporterConfig(port=None)
    served = await serve_with_reporter(
        serve_without_hook, ARGS, model_info="info", config=off, on_reporter_ready=lambda _: pytest.fail("it started")
    )
    assert served == f"served {ARGS}"


async def test_a_servicer_without_the_hook_is_refused_by_name_and_version() -> None:
    with pytest.raises(MissingHookError, match=r"takes no 'on_request_manager_ready' callback") as caught:
        await serve_with_reporter(serve_without_hook, ARGS, "info", config=ReporterConfig(port=0))
    assert caught.value.package == __name__.partition(".")[0]
    assert caught.value.version is None
    assert "(version unknown)" in str(caught.value)


async def test_a_servicer_that_would_swallow_the_hook_unseen_is_refused() -> None:
    async def serve(server_args: object, **_: object) -> None:
        raise AssertionError(server_args)

    with pytest.raises(MissingHookError):
        await serve_with_reporter(serve, ARGS, config=ReporterConfig(port=0))


async def test_the_rust_servicer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVICER_IMPL_VARIABLE, " Rust")
    with pytest.raises(ServingModeError, match=r"=rust selects .* --source sglang-shm"):
        await serve_with_reporter(Servicer().serve, ARGS, "info", config=ReporterConfig(port=0))


@pytest.mark.parametrize(("args", "ranks"), [({"dp_size": 2}, 2), ({"dp_size": 1, "attn_dp_size": 4}, 4)])
def test_data_parallel_attention_counts_as_ranks_in_either_spelling(args: dict[str, int], ranks: int) -> None:
    source = request_manager_source(Manager(), SimpleNamespace(**args))
    assert source.expected_dp_ranks() == frozenset(range(ranks))
