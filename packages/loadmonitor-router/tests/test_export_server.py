"""The HTTP server in this process, and `loadmonitor export` as people run it."""

import asyncio
import http.client
import signal
import socket
import sys
import sysconfig
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fleet_samples import everything

from loadmonitor_router import ConfigError, MonitorStats
from loadmonitor_router.export import EngineMetrics, FleetCollector, MetricsServer, make_registry, on_loop
from loadmonitor_router.snapshot import FleetSnapshot
from loadmonitor_router.testing import ScriptedStream, ScriptedWorker, wire_rank, wire_report

COMMAND = str(Path(sysconfig.get_path("scripts")) / "loadmonitor")
OPEN_METRICS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"


def get(address: str, path: str, method: str = "GET") -> tuple[int, str, str]:
    """Return status, body and content type."""
    connection = http.client.HTTPConnection(address, timeout=10)
    connection.request(method, path, headers={"Accept": OPEN_METRICS})
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body, response.headers["Content-Type"]


@pytest.fixture
def unready() -> list[str]:
    """What /readyz complains of."""
    return []


@pytest.fixture
def server(unready: list[str]) -> Iterator[MetricsServer]:
    """A server of a fleet in which every family has a series."""
    snapshot, counts = everything()
    registry = make_registry(FleetCollector(lambda: snapshot, lambda: counts, engine_metrics=EngineMetrics.VLLM))
    with MetricsServer(registry, "127.0.0.1:0", not_ready=lambda: unready[0] if unready else None) as served:
        yield served


def test_metrics_come_in_the_text_format_with_colons_intact_whatever_is_asked_for(server: MetricsServer) -> None:
    status, body, content_type = get(server.address, "/metrics")
    assert (status, content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "\nloadmonitor_engine_running_requests{" in body
    assert '\nvllm:num_requests_running{model_name="m"} 12.0\n' in body


def test_probes_answer_and_readyz_says_what_is_missing(server: MetricsServer, unready: list[str]) -> None:
    assert get(server.address, "/livez")[:2] == (200, "ok\n")
    assert get(server.address, "/readyz")[:2] == (200, "ok\n")
    unready.append("none of 2 workers is fresh")
    assert get(server.address, "/readyz")[:2] == (503, "none of 2 workers is fresh\n")
    assert get(server.address, "/livez")[:2] == (200, "ok\n")


def test_other_paths_are_404_other_methods_501_and_head_has_no_body(server: MetricsServer) -> None:
    assert get(server.address, "/")[:2] == (404, "there are /metrics, /livez and /readyz\n")
    assert get(server.address, "/metrics", "POST")[0] == 501
    assert get(server.address, "/metrics?x=1", "HEAD")[:2] == (200, "")


def test_one_connection_serves_many_scrapes_and_writes_no_log(
    server: MetricsServer, capfd: pytest.CaptureFixture[str]
) -> None:
    connection = http.client.HTTPConnection(server.address, timeout=10)
    for _ in range(3):
        connection.request("GET", "/livez")
        assert connection.getresponse().read() == b"ok\n"
    connection.close()
    assert capfd.readouterr() == ("", "")


def test_a_scrape_that_fails_is_a_500_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> FleetSnapshot:
        raise ConfigError("no fleet")

    broken = make_registry(FleetCollector(fail, MonitorStats))
    with MetricsServer(broken, "127.0.0.1:0", not_ready=lambda: None) as failing:
        assert get(failing.address, "/metrics")[:2] == (500, "failed: the log says why\n")
        assert get(failing.address, "/livez")[0] == 200
    assert "no fleet" in caplog.text


def test_a_client_that_leaves_in_the_middle_is_no_news(
    server: MetricsServer, capfd: pytest.CaptureFixture[str]
) -> None:
    host, _, port = server.address.rpartition(":")
    for _ in range(3):
        with socket.create_connection((host, int(port))) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 50)
    assert get(server.address, "/livez")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_two_servers_never_share_an_address(server: MetricsServer) -> None:
    second = MetricsServer(server._registry, server.address, not_ready=lambda: None)
    with pytest.raises(OSError, match="Address already in use"), second:
        pass


def test_an_ipv6_address_is_listened_on_and_told_in_brackets(server: MetricsServer) -> None:
    with MetricsServer(server._registry, "[::1]:0", not_ready=lambda: None) as six:
        assert six.address.startswith("[::1]:")
        assert get(six.address, "/livez")[0] == 200


@pytest.mark.parametrize("listen", ["9464", ":9464", "host", "::1:9464", "[::x]:1", "host:65536", "host:http"])
def test_an_address_of_another_form_is_refused(server: MetricsServer, listen: str) -> None:
    with pytest.raises(ConfigError, match="allowed are host:port"):
        MetricsServer(server._registry, listen, not_ready=lambda: None)


async def test_what_belongs_to_a_loop_is_read_on_that_loop() -> None:
    loop = asyncio.get_running_loop()
    read = on_loop(asyncio.get_running_loop)
    assert await asyncio.to_thread(read) is loop


async def test_a_failure_on_the_loop_reaches_the_thread_that_asked() -> None:
    def fail() -> int:
        raise ConfigError("no")

    with pytest.raises(ConfigError, match="no"):
        await asyncio.to_thread(on_loop(fail))


@asynccontextmanager
async def exporter(*arguments: str) -> AsyncIterator[tuple[Process, str]]:
    """Run the command on a free port; give the process and its address."""
    process = await asyncio.create_subprocess_exec(
        COMMAND, "export", *arguments, "--listen", "127.0.0.1:0", stdout=PIPE, stderr=PIPE
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        assert line.startswith("listening on 127.0.0.1:")
        yield process, line.removeprefix("listening on ").strip()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def fetch_until(address: str, path: str, wanted: str) -> str:
    """Ask again and again until the answer holds something."""
    while True:
        _, body, _ = await asyncio.to_thread(get, address, path)
        if wanted in body:
            return body


async def test_the_command_exports_a_worker_until_it_is_lost_and_ends_with_0_on_sigterm() -> None:
    async with ScriptedWorker() as worker, exporter(worker.address, "--router-id", "r-1") as (process, address):
        assert (await asyncio.to_thread(get, address, "/livez"))[0] == 200
        assert (await asyncio.to_thread(get, address, "/readyz"))[:2] == (503, "none of 1 workers is fresh\n")
        before = await fetch_until(
            address, "/metrics", 'loadmonitor_router_workers{router_id="r-1",state="missing"} 1.0'
        )
        assert "loadmonitor_engine_running_requests{" not in before
        stream = await worker.accept()
        assert stream.register.router_id == "r-1"
        await stream.acknowledge()
        await stream.report(wire_report(1, ranks=[wire_rank(0), wire_rank(1, num_waiting_reqs=0)]))
        await fetch_until(address, "/readyz", "ok")
        _, body, _ = await asyncio.to_thread(get, address, "/metrics")
        waiting = [line for line in body.splitlines() if line.startswith("loadmonitor_engine_waiting_requests{")]
        labels = f'model_name="",router_id="r-1",worker="{worker.address}",worker_type="regular"}}'
        assert waiting == [
            f'loadmonitor_engine_waiting_requests{{dp_rank="0",{labels} 3.0',
            f'loadmonitor_engine_waiting_requests{{dp_rank="1",{labels} 0.0',
        ]
        assert 'loadmonitor_router_delivery_age_seconds_count{router_id="r-1"} 1.0' in body
        await lose(stream)
        lost = await fetch_until(
            address, "/metrics", 'loadmonitor_router_reconnects_total{reason="shutting_down",router_id="r-1"} 1.0'
        )
        assert "loadmonitor_engine_running_requests{" not in lost
        await (await worker.accept()).acknowledge()
        again = await fetch_until(
            address, "/metrics", 'loadmonitor_router_sessions{router_id="r-1",state="registered"} 1.0'
        )
        assert "loadmonitor_engine_running_requests{" not in again
        process.send_signal(signal.SIGTERM)
        out, _ = await process.communicate()
        assert (process.returncode, out) == (0, b"")


async def lose(stream: ScriptedStream) -> None:
    """End the stream as a Worker does that goes away."""
    await stream.fail("SHUTTING_DOWN", "going away")


async def run(*arguments: str) -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(COMMAND, *arguments, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_a_port_that_is_taken_ends_the_command_with_1_and_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        code, out, err = await run("export", "w:1", "--listen", listen)
    assert (code, out, err) == (1, "", f"loadmonitor: can't listen on {listen}: Address already in use\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "export needs the address of a load reporter, such as 10.0.0.1:50061, or --discover"),
        (["w:1", "--discover", "static:http://w:1"], "export takes addresses or --discover, not both"),
        (["--discover", "file"], "discovery 'file' is not understood"),
        (["--discover", "file:w", "--reporter-port", "0"], "reporter_port=0 is not a TCP port"),
        (["w:1", "W:1"], "address 'W:1' is there twice"),
        (["w:1", "--listen", "9464"], "can't listen on '9464'"),
        (["w:1", "--router-id", ""], "router_id='' is blank"),
        (["w:1", "--engine-metrics", "trt"], "trt"),
    ],
)
async def test_wrong_usage_of_export_exits_2(arguments: list[str], error: str) -> None:
    code, out, err = await run("export", *arguments)
    assert (code, out) == (2, "")
    assert error in err


async def test_without_prometheus_client_one_line_says_what_to_install_and_the_dashboard_still_comes() -> None:
    script = (
        "import sys; sys.modules['prometheus_client'] = None; from loadmonitor_router.__main__ import main;"
        "sys.argv = ['loadmonitor', *{!r}]; sys.exit(main())"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script.format(["export", "w:1"]), stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err.decode() == (
        "loadmonitor: export needs prometheus_client: pip install 'loadmonitor-router[cli,prometheus]'\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script.format(["dashboard"]), stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out.startswith(b"{")
