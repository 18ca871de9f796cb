"""The commands `sample`, `watch` and `capture`."""

import json
import os
import pty
import signal
import subprocess
import sysconfig
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from nic_tree import ManualClock, NicTree
from topology_tree import TopologyTree

from nic_metrics import Direction, PortId, UnknownReason, Utilization, read_port
from nic_metrics.cli import run
from nic_metrics.cli._ports import rounds
from nic_metrics.cli._uses import UseLines, print_uses_json, table_rows

COMMAND = str(Path(sysconfig.get_path("scripts")) / "nic-metrics")
LINK = 50_000_000_000.0
FIRST, SECOND = PortId("mlx5_0"), PortId("mlx5_10", 2)
USES = {
    FIRST: Utilization(0.628, None, 0.628 * LINK, 1.5e9, LINK, "counters_ext"),
    SECOND: Utilization(None, UnknownReason.COUNTER_SATURATED, link_bytes_per_second=LINK, source="counters"),
}
# 2026-11-30T04:42:54.192Z
UNIX_SECONDS = 1_796_013_774.192
BOUND_SECONDS = 50


@pytest.fixture
def tree(tmp_path: Path) -> NicTree:
    """A machine of which one port can be measured and one can't."""
    tree = NicTree(tmp_path / "sys" / "class" / "infiniband")
    tree.port("mlx5_0", {"counters/port_xmit_data": 5, "counters/port_rcv_data": 6})
    tree.port("mlx5_1", {"counters/port_xmit_data": 2**32 - 1, "counters/port_rcv_data": 6})
    return tree


@pytest.fixture
def root(tree: NicTree) -> str:
    return str(tree.root.parents[1])


def test_a_round_comes_at_each_interval_and_none_is_made_up_for() -> None:
    clock, looked, slept = ManualClock(), list[float](), list[float]()
    start = clock.seconds

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.advance(seconds)

    def look() -> float:
        looked.append(clock.seconds - start)
        # The third look is held up.
        clock.advance(5.5 if len(looked) == 3 else 0.25)
        return looked[-1]

    assert list(islice(rounds(look, 1.0, clock=clock, sleep=sleep), 5)) == [1.25, 2.25, 7.75, 8.75, 9.75]
    assert looked[0] == 0.0
    assert min(slept) >= 0


def test_lines_have_columns_of_fixed_width(capsys: pytest.CaptureFixture[str]) -> None:
    lines = UseLines(USES)
    lines.print(UNIX_SECONDS, USES)
    lines.print(UNIX_SECONDS + 1, {FIRST: USES[FIRST]._replace(missing=Direction.RX, rx_bytes_per_second=None)})
    assert capsys.readouterr().out.splitlines() == [
        "TIME                      DEVICE   PORT   UTIL   TX Gb/s   RX Gb/s  LINK Gb/s  REASON                SOURCE",
        "2026-11-30T04:42:54.192Z  mlx5_0      1   0.63     251.2      12.0      400.0  -                     counters_ext",
        "2026-11-30T04:42:54.192Z  mlx5_10     2      -         -         -      400.0  counter_saturated     counters",
        "2026-11-30T04:42:55.192Z  mlx5_0      1   0.63     251.2         -      400.0  no rx counter         counters_ext",
    ]


def test_json_has_the_keys_that_were_promised_and_null_for_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    print_uses_json("nic-metrics.sample/1", UNIX_SECONDS, USES)
    known, unknown = map(json.loads, capsys.readouterr().out.splitlines())
    assert known == {
        "schema": "nic-metrics.sample/1",
        "time": "2026-11-30T04:42:54.192Z",
        "device": "mlx5_0",
        "port": 1,
        "utilization": 0.628,
        "reason": None,
        "missing": None,
        "tx_bytes_per_second": 0.628 * LINK,
        "rx_bytes_per_second": 1.5e9,
        "link_bytes_per_second": LINK,
        "source": "counters_ext",
    }
    assert (unknown["utilization"], unknown["reason"]) == (None, "counter_saturated")
    assert (unknown["tx_bytes_per_second"], unknown["rx_bytes_per_second"]) == (None, None)


def test_a_table_has_bars_for_what_is_known_and_dashes_for_the_rest(tree: NicTree) -> None:
    tree.write("mlx5_10", {"rate": "400 Gb/s\n"}, port=2)
    rows = table_rows(USES, {port: read_port(port, tree.root) for port in USES}, {"mlx5_0": (0, 1)})
    assert rows == [
        ("mlx5_0", "1", "400 NDR", "ACTIVE", "█████▋···  251.2", "▎········   12.0", "0.63", "0,1", "counters_ext", ""),
        ("mlx5_10", "2", "400", "-", "-", "-", "-", "-", "counters", "counter_saturated"),
    ]


def test_sample_prints_so_many_samples_of_every_port(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sample", "--root", root, "--interval", "0.1", "--count", "2", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["device"], row["utilization"], row["reason"]) for row in rows] == [
        ("mlx5_0", 0.0, None),
        ("mlx5_1", None, "counter_saturated"),
    ] * 2
    assert {row["schema"] for row in rows} == {"nic-metrics.sample/1"}


def test_sample_takes_the_class_directory_too(tree: NicTree, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sample", "--root", str(tree.root), "--interval", "0.1"]) == 0
    assert "mlx5_1" in capsys.readouterr().out


def test_sample_exits_1_when_nothing_could_be_measured(
    tmp_path: Path, root: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sample", "--root", root, "--interval", "0.1", "--device", "mlx5_1"]) == 1
    out, err = capsys.readouterr()
    assert ("mlx5_0" in out, "counter_saturated" in out, err) == (False, True, "")
    (tmp_path / "none" / "class").mkdir(parents=True)
    assert run(["sample", "--root", str(tmp_path / "none"), "--interval", "0.1"]) == 1
    assert capsys.readouterr() == ("", f"nic-metrics: there is no RDMA device in {tmp_path}/none/class/infiniband\n")


def test_a_named_device_that_is_not_there_is_unknown_and_not_an_error(
    root: str, tree: NicTree, capsys: pytest.CaptureFixture[str]
) -> None:
    (tree.root / "mlx5_7").symlink_to("../nowhere")
    assert run(["sample", "--root", root, "--interval", "0.1", "--device", "mlx5_7", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["reason"] == "port_missing"
    assert err == "nic-metrics: mlx5_7 is passed over: dangling_link\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample", "--interval", "0.05"], "--interval 0.05 is not allowed: a number from 0.1 to 3600 is"),
        (["sample", "--interval", "nan"], "--interval nan is not allowed"),
        (["watch", "--interval", "inf"], "--interval inf is not allowed"),
        (["sample", "--count", "0"], 'Invalid value "0" for --count'),
        (["sample", "--device", "../x"], "device '../x', port 1 is no port"),
        (["watch", "--bogus"], "Unknown option: --bogus."),
        (["capture"], "requires an argument"),
    ],
)
def test_wrong_usage_exits_2_with_one_line_that_names_it(
    arguments: list[str], message: str, root: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--root", root]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err


def test_a_captured_tree_replays(root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy"
    assert run(["capture", str(copy), "--root", root]) == 0
    assert capsys.readouterr().out == f"2 devices and 0 GPUs in 12 files below {copy}, 0 addresses replaced\n"
    assert run(["sample", "--root", str(copy), "--interval", "0.1", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["device"], row["utilization"], row["reason"]) for row in rows] == [
        ("mlx5_0", 0.0, None),
        ("mlx5_1", None, "counter_saturated"),
    ]
    assert run(["capture", str(copy), "--root", root]) == 2
    assert capsys.readouterr().err == (
        f"nic-metrics: {copy} isn't empty: name a directory that is, or one that doesn't exist\n"
    )


def test_capture_tells_in_json_what_it_did(root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capture", str(tmp_path / "copy"), "--root", root, "--device", "mlx5_1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "nic-metrics.capture/1",
        "directory": str(tmp_path / "copy"),
        "devices": ["mlx5_1"],
        "gpus": 0,
        "files": 6,
        "replaced": 0,
        "unreadable": [],
    }
    assert run(["capture", str(tmp_path / "none"), "--root", root, "--device", "mlx5_7"]) == 1


def watching(root: str, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [COMMAND, "watch", "--root", root, "--interval", "0.1", *arguments]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


def test_watch_prints_lines_where_there_is_no_terminal_until_it_is_told_to_end(root: str) -> None:
    with watching(root) as watch:
        assert watch.stdout is not None
        lines = [watch.stdout.readline().split() for _ in range(5)]
        watch.send_signal(signal.SIGTERM)
        _, err = watch.communicate(timeout=BOUND_SECONDS)
    assert [line[1] for line in lines] == ["DEVICE", "mlx5_0", "mlx5_1", "mlx5_0", "mlx5_1"]
    assert (watch.returncode, err) == (0, "")


def test_watch_is_silent_when_its_reader_leaves(root: str) -> None:
    with watching(root, "--json") as watch:
        assert watch.stdout is not None
        assert json.loads(watch.stdout.readline())["schema"] == "nic-metrics.watch/1"
        watch.stdout.close()
        assert watch.wait(BOUND_SECONDS) == 0
        assert watch.stderr is not None
        assert watch.stderr.read() == ""


def drawn(root: str, *arguments: str, until: Callable[[bytes], bool]) -> bytes:
    """What `watch` writes to a terminal until it is interrupted."""
    ours, theirs = pty.openpty()
    with watching(root, *arguments, stdout=theirs) as watch:
        os.close(theirs)
        shown = b""
        while not until(shown):
            shown += os.read(ours, 4096)
        watch.send_signal(signal.SIGINT)
        while _more(ours):
            pass
        assert watch.wait(BOUND_SECONDS) == 130
    os.close(ours)
    return shown


@pytest.mark.parametrize("dmon", [False, True])
def test_watch_draws_a_table_on_a_terminal_unless_lines_are_asked_for(root: str, *, dmon: bool) -> None:
    shown = drawn(root, *(["--dmon"] if dmon else []), until=lambda shown: shown.count(b"mlx5_1") >= 2)
    redrawn, titled = shown.count(b"\x1b[H\x1b[J"), shown.count(b"DEVICE")
    assert (redrawn, titled) == (0, 1) if dmon else redrawn >= titled >= 2
    assert "·········".encode() in shown or dmon


def _more(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        # What Linux answers when the other side has gone.
        return b""


@pytest.mark.parametrize(("flags", "gpu"), [([], "0"), (["--device", "mlx5_0"], "-")])
def test_watch_says_which_gpus_a_device_is_near_to_unless_others_may_not_be_looked_at(
    tmp_path: Path, flags: list[str], gpu: str
) -> None:
    machine = TopologyTree(tmp_path)
    machine.nic("mlx5_0", "pci0000:00", "0000:0f:00.0")
    machine.gpu("pci0000:00", "0000:10:00.0")
    shown = drawn(str(machine.sys), *flags, until=lambda shown: b"no_byte_counter" in shown)
    titles, row = (line.split() for line in shown.decode().split("\r\n")[:2])
    assert titles[-3:] == ["GPU", "SOURCE", "REASON"]
    assert row[-3:] == [gpu, "-", "no_byte_counter"]


def test_sample_takes_one_port_of_a_device(root: str, tree: NicTree, capsys: pytest.CaptureFixture[str]) -> None:
    tree.port("mlx5_0", {"counters/port_xmit_data": 5, "counters/port_rcv_data": 6}, port=2)

    def sampled(*names: str) -> list[tuple[str, int]]:
        run(["sample", "--root", root, "--interval", "0.1", "--json", *(f"--device={name}" for name in names)])
        told = map(json.loads, capsys.readouterr().out.splitlines())
        return [(each["device"], each["port"]) for each in told]

    assert sampled("mlx5_0:2") == [("mlx5_0", 2)]
    assert sampled("mlx5_0:2", "mlx5_0") == [("mlx5_0", 1), ("mlx5_0", 2)]
    assert sampled("mlx5_0:2", "mlx5_7") == [("mlx5_0", 2), ("mlx5_7", 1)]
    assert sampled("mlx5_0:2", "mlx5_0:2") == [("mlx5_0", 2)]


def test_watch_without_any_device_ends_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "class").mkdir()
    assert run(["watch", "--root", str(tmp_path)]) == 1
    assert "there is no RDMA device" in capsys.readouterr().err
