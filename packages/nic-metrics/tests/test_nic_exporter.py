"""What Prometheus gets of ports and signals."""

import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest
from nic_tree import ManualClock, NicTree
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from nic_metrics import ByteTotals, PortId, PortSampler, UnknownReason
from nic_metrics.cli import run
from nic_metrics.prometheus import FAMILIES, SignalLoad, make_registry, markdown_table

COMMAND = str(Path(sysconfig.get_path("scripts")) / "nic-metrics")
FIRST, SECOND = PortId("mlx5_0"), PortId("mlx5_1")
NAMES = {"device": "mlx5_0", "port": "1"}
LINK = 50_000_000_000.0
BOUND_SECONDS = 50


@pytest.fixture
def tree(tmp_path: Path) -> NicTree:
    tree = NicTree(tmp_path)
    tree.port("mlx5_0", words(1000, 2000))
    tree.port("mlx5_1", {"counters/port_xmit_data": 2**32 - 1, "counters/port_rcv_data": "N/A (no PMA)\n"})
    return tree


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def words(tx: int, rx: int) -> dict[str, str | int]:
    return {"counters/port_xmit_data": tx, "counters/port_rcv_data": rx}


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def test_d27_names_end_as_those_of_node_exporter_and_totals_are_bytes(tree: NicTree, clock: ManualClock) -> None:
    registry = make_registry([FIRST, SECOND], root=tree.root, clock=clock)
    assert value(registry, "nic_metrics_port_data_transmitted_bytes_total", **NAMES) == 4000
    assert value(registry, "nic_metrics_port_data_received_bytes_total", **NAMES) == 8000
    assert value(registry, "nic_metrics_rate_bytes_per_second", **NAMES) == LINK
    assert value(registry, "nic_metrics_state_id", **NAMES) == 4
    assert value(registry, "nic_metrics_physical_state_id", **NAMES) == 5


def test_what_is_unknown_has_no_series_and_a_reason(tree: NicTree, clock: ManualClock) -> None:
    tree.write("mlx5_1", {"rate": "0 GB/sec\n", "state": "?\n", "phys_state": ""})
    registry = make_registry([FIRST, SECOND], root=tree.root, clock=clock)
    clock.advance(15)
    text = generate_latest(registry).decode()
    series = [line.partition(" ")[0] for line in text.splitlines() if 'device="mlx5_1"' in line]
    assert series[0].startswith("nic_metrics_port_lower_bound{")
    assert len(series[1:]) == len(UnknownReason)
    assert all(each.startswith("nic_metrics_port_unknown{") for each in series[1:])
    assert 'nic_metrics_port_unknown{device="mlx5_1",port="1",reason="counter_saturated"} 1.0\n' in text
    assert sum(line.endswith(" 1.0") and "port_unknown" in line for line in text.splitlines()) == 1


def test_use_is_that_since_the_scrape_before_and_a_second_scraper_gets_the_same(
    tree: NicTree, clock: ManualClock
) -> None:
    registry = make_registry([FIRST], root=tree.root, clock=clock)
    name = "nic_metrics_port_utilization_ratio"
    tree.write("mlx5_0", words(1000 + 62_500_000_000, 2000))
    clock.advance(10)
    assert value(registry, name, **NAMES) == 0.5
    clock.advance(0.01)
    assert value(registry, name, **NAMES) == 0.5
    clock.advance(10)
    assert value(registry, name, **NAMES) == 0.0


def test_the_use_of_a_port_that_is_seen_by_half_is_marked(tree: NicTree, clock: ManualClock) -> None:
    tree.write("mlx5_0", {"counters/port_xmit_data": "N/A (no PMA)\n"})
    registry = make_registry([FIRST, SECOND], root=tree.root, clock=clock)
    clock.advance(10)
    assert value(registry, "nic_metrics_port_utilization_ratio", **NAMES) == 0.0
    assert value(registry, "nic_metrics_port_lower_bound", **NAMES) == 1
    assert value(registry, "nic_metrics_port_lower_bound", device="mlx5_1", port="1") == 0


def test_a_port_that_went_down_has_no_use_at_once(tree: NicTree, clock: ManualClock) -> None:
    registry = make_registry([FIRST], root=tree.root, clock=clock)
    clock.advance(10)
    assert value(registry, "nic_metrics_port_utilization_ratio", **NAMES) == 0.0
    tree.write("mlx5_0", {"state": "1: DOWN\n"})
    clock.advance(0.01)
    assert value(registry, "nic_metrics_port_utilization_ratio", **NAMES) is None
    assert value(registry, "nic_metrics_port_unknown", **NAMES, reason="port_not_active") == 1


def test_signals_are_exported_where_they_are_known(tree: NicTree, clock: ManualClock) -> None:
    loads = {
        "nic": SimpleNamespace(value=None, age_seconds=3.0),
        "serving": SimpleNamespace(value=0.0, age_seconds=1.5),
    }
    registry = make_registry([FIRST], root=tree.root, clock=clock, source_load=lambda: loads)
    assert value(registry, "nic_metrics_source_load_ratio", signal="serving") == 0.0
    assert value(registry, "nic_metrics_source_load_age_seconds", signal="serving") == 1.5
    assert value(registry, "nic_metrics_source_load_ratio", signal="nic") is None
    assert value(registry, "nic_metrics_source_load_age_seconds", signal="nic") is None


def test_a_load_that_cannot_be_told_costs_the_ports_nothing(
    tree: NicTree, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> dict[str, SignalLoad]:
        raise RuntimeError("the engine is gone")

    registry = make_registry([FIRST], root=tree.root, clock=clock, source_load=broken)
    assert value(registry, "nic_metrics_source_load_ratio", signal="serving") is None
    clock.advance(10)
    assert value(registry, "nic_metrics_port_utilization_ratio", **NAMES) == 0.0
    assert "the engine is gone" in caplog.text


def test_the_exposition_has_the_families_of_the_table_and_no_other(tree: NicTree, clock: ManualClock) -> None:
    text = generate_latest(make_registry([FIRST], root=tree.root, clock=clock)).decode()
    exported = [
        (metric.name + "_total" * (metric.type == "counter"), metric.type, metric.documentation)
        for metric in text_string_to_metric_families(text)
    ]
    assert exported == [(family.name, family.kind, family.help) for family in FAMILIES]
    rows = markdown_table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [family.name for family in FAMILIES]


def test_totals_leave_the_window_of_a_sample_alone(tree: NicTree, clock: ManualClock) -> None:
    with PortSampler([FIRST, SECOND], root=tree.root, clock=clock) as sampler:
        for step in range(4):
            tree.write("mlx5_0", words(1000 + 100 * step, 2000))
            assert sampler.totals() == {FIRST: ByteTotals(4000 + 400 * step, 8000), SECOND: ByteTotals(None, None)}
            clock.advance(1)
            use = sampler.sample()[FIRST]
            assert use.tx_bytes_per_second == (None if step == 0 else 400.0)


@pytest.fixture
def exporter(tree: NicTree) -> Iterator[subprocess.Popen[str]]:
    command = [COMMAND, "export", "--root", str(tree.root), "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_the_command_serves_until_it_is_told_to_end(exporter: subprocess.Popen[str]) -> None:
    assert exporter.stdout is not None
    said = exporter.stdout.readline()
    assert said.startswith("listening on 127.0.0.1:")
    address = said.split()[-1]
    with urlopen(f"http://{address}/metrics", timeout=BOUND_SECONDS) as answer:
        text = answer.read().decode()
    assert 'nic_metrics_port_data_transmitted_bytes_total{device="mlx5_0",port="1"} 4000.0' in text
    exporter.send_signal(signal.SIGTERM)
    _, err = exporter.communicate(timeout=BOUND_SECONDS)
    assert (exporter.returncode, err) == (0, "")


def test_an_address_that_can_not_be_used_is_named(tree: NicTree, capsys: pytest.CaptureFixture[str]) -> None:
    for listen in ("9465", "127.0.0.1:x", "127.0.0.1:70000", ":"):
        assert run(["export", "--root", str(tree.root), "--listen", listen]) == 2
        assert f"--listen {listen} is not host:port or [ipv6]:port" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["export", "--root", str(tree.root), "--listen", f"127.0.0.1:{port}"]) == 1
    assert f"nic-metrics: can't listen on 127.0.0.1:{port}: " in capsys.readouterr().err


def test_without_its_extra_the_exporter_says_what_to_install(tree: NicTree) -> None:
    program = (
        "import sys; sys.modules['prometheus_client'] = None; "
        "from nic_metrics.cli import run; sys.exit(run(sys.argv[1:]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "export", "--root", str(tree.root)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (
        1,
        "nic-metrics: exporting metrics needs the extra [prometheus]: pip install 'nic-metrics[prometheus]'\n",
    )
