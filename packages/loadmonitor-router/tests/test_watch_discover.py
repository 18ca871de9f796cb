"""`--discover`: the Workers of a command come and go while it runs, and a look that fails is told."""

import asyncio
import json
import os
import pty
import signal
import sysconfig
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Self

import pytest
from test_export_server import exporter, fetch_until, get
from test_watch_command import drain, engine, run, start
from test_watch_follow import Recorder, accepted

from loadmonitor_router import ConnectionState, Freshness, WorkerTarget
from loadmonitor_router.cli._follow import Watch
from loadmonitor_router.testing import ManualClock, ScriptedWorker, wire_rank, wire_report

COMMAND = str(Path(sysconfig.get_path("scripts")) / "loadmonitor")


class Told:
    """A Discovery that finds what the test tells it to."""

    def __init__(self) -> None:
        self.sets: asyncio.Queue[tuple[WorkerTarget, ...]] = asyncio.Queue()
        self.last_error: str | None = None
        self.failure: Exception | None = None
        self.closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[WorkerTarget, ...]:
        if self.failure is not None:
            raise self.failure
        return await self.sets.get()

    async def aclose(self) -> None:
        self.closed = True


def url(number: int) -> str:
    return f"http://w{number}.example:30000"


def target(number: int, worker: ScriptedWorker) -> WorkerTarget:
    return WorkerTarget(url=url(number), reporter=worker.address)


def replace_file(path: Path, *workers: ScriptedWorker, text: str | None = None) -> None:
    """Rename a file that names these Workers over the one that is there."""
    entries = [{"url": url(number), "reporter": worker.address} for number, worker in enumerate(workers)]
    new = path.with_suffix(".new")
    new.write_text(json.dumps(entries) if text is None else text)
    new.rename(path)


async def lines_until(process: Process, wanted: str) -> list[str]:
    """Return the lines of output up to the first that holds something."""
    assert process.stdout is not None
    lines = [""]
    while wanted not in lines[-1]:
        line = (await process.stdout.readline()).decode()
        assert line, f"the command ended after {lines}"
        lines.append(line)
    return lines[1:]


async def error_line(process: Process) -> str:
    assert process.stderr is not None
    return (await process.stderr.readline()).decode()


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_worker_that_is_gone_is_hung_up_on_and_one_that_comes_back_starts_afresh(clock: ManualClock) -> None:
    found, recorder = Told(), Recorder()
    async with ScriptedWorker() as one, ScriptedWorker() as other:
        running = asyncio.create_task(Watch(found, recorder, clock=clock).forever())
        found.sets.put_nowait((target(0, one), target(1, other)))
        streams = [await accepted(worker) for worker in (one, other)]
        for stream, worker in zip(streams, (one, other), strict=True):
            await stream.report(wire_report(1))
            assert await recorder.next() == (worker.address, Freshness.FRESH, None)
        found.sets.put_nowait((target(1, other),))
        reason = "gone from the workers that the discovery finds"
        assert await recorder.next() == (one.address, Freshness.MISSING, reason)
        recorder.drawn.clear()
        await recorder.drawn.wait()
        assert [shown.worker for shown in recorder.views] == [other.address]
        while (frame := await streams[0].receive()) is not None:  # the reporter is told to stop
            last = frame
        assert last.HasField("stop")
        found.sets.put_nowait((target(0, one), target(1, other)))
        again = await accepted(one)
        assert again.register.router_id != streams[0].register.router_id
        await again.report(wire_report(2))
        assert await recorder.next() == (one.address, Freshness.FRESH, None)
        assert recorder.news.empty()  # the Worker that stayed has kept its stream, and is no news
        os.kill(os.getpid(), signal.SIGTERM)
        assert await running == 0
    assert found.closed


@pytest.mark.usefixtures("leaves_nothing")
async def test_the_end_of_the_old_stream_takes_nothing_from_a_worker_that_is_back(clock: ManualClock) -> None:
    found, recorder = Told(), Recorder()
    async with ScriptedWorker(obeys_stop=False) as worker:
        running = asyncio.create_task(Watch(found, recorder, clock=clock).forever())
        found.sets.put_nowait((target(0, worker),))
        old = await accepted(worker)
        await old.report(wire_report(1))
        assert (await recorder.next())[1] is Freshness.FRESH
        found.sets.put_nowait(())
        assert (await recorder.next())[1] is Freshness.MISSING
        found.sets.put_nowait((target(0, worker),))
        new = await accepted(worker)
        while [shown.connection.state for shown in recorder.views] != [ConnectionState.REGISTERED]:
            recorder.drawn.clear()
            await recorder.drawn.wait()
        assert [shown.report for shown in recorder.views] == [None]  # what was reported before is gone for good
        await new.report(wire_report(2))
        assert (await recorder.next())[1] is Freshness.FRESH
        clock.move(1_000)  # so long the old stream may take to end by itself
        while sum(task.get_name() == f"monitor {worker.address}" for task in asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - a task's end is told to nobody
            await asyncio.sleep(0)
        recorder.drawn.clear()
        await recorder.drawn.wait()
        assert [shown.report and shown.report.sequence_id for shown in recorder.views] == [2]
        os.kill(os.getpid(), signal.SIGTERM)
        while not running.done():
            clock.move(100)
            await asyncio.sleep(0)
        assert await running == 0


@pytest.mark.usefixtures("leaves_nothing")
async def test_what_is_wrong_with_the_discovery_is_drawn_until_it_is_right_again(clock: ManualClock) -> None:
    async def drawn(trouble: str | None) -> list[str]:
        while recorder.trouble != trouble or not recorder.drawn.is_set():
            recorder.drawn.clear()
            await recorder.drawn.wait()
        return [shown.worker for shown in recorder.views]

    found, recorder = Told(), Recorder()
    found.last_error = "no server answers"
    async with ScriptedWorker() as worker:
        running = asyncio.create_task(Watch(found, recorder, clock=clock).forever())
        assert await drawn("no server answers; no workers are known") == []
        found.last_error = None
        found.sets.put_nowait((target(0, worker),))
        await accepted(worker)
        assert await drawn(None) == [worker.address]
        found.last_error = "no server answers"
        assert await drawn("no server answers; the workers found before stand") == [worker.address]
        found.last_error = None
        found.sets.put_nowait(())
        assert await drawn("the discovery finds that there are no workers") == []
        assert not running.done()
        os.kill(os.getpid(), signal.SIGTERM)
        assert await running == 0


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_discovery_that_breaks_down_ends_the_watch_with_its_error(clock: ManualClock) -> None:
    found = Told()
    found.failure = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        await Watch(found, Recorder(), clock=clock).forever()


@pytest.mark.usefixtures("leaves_nothing")
async def test_workers_that_all_refuse_do_not_end_a_watch_to_which_others_may_come(clock: ManualClock) -> None:
    found, recorder = Told(), Recorder()
    async with ScriptedWorker() as one, ScriptedWorker() as other:
        running = asyncio.create_task(Watch(found, recorder, clock=clock).until_fresh(50))
        found.sets.put_nowait((target(0, one),))
        await (await one.accept()).fail("PERMISSION_DENIED", "not you")
        assert (await recorder.next())[:2] == (one.address, Freshness.MISSING)
        recorder.drawn.clear()
        await recorder.drawn.wait()
        found.sets.put_nowait((target(1, other),))
        await (await accepted(other)).report(wire_report(1))
        assert await running == 0


async def test_a_watched_file_that_is_replaced_replaces_the_workers(tmp_path: Path) -> None:
    path = tmp_path / "workers.json"
    async with ScriptedWorker() as one, ScriptedWorker() as other:
        replace_file(path, one)
        process = await start("watch", "--discover", f"file:{path}", "--json")
        await (await accepted(one)).report(wire_report(1))
        (first,) = await lines_until(process, one.address)
        assert json.loads(first)["freshness"] == "fresh"
        replace_file(path, other)
        *_, gone = await lines_until(process, '"closed"')
        assert json.loads(gone) | {"time": ""} == {
            "schema": "loadmonitor.watch/1",
            "time": "",
            "worker": one.address,
            "freshness": "missing",
            "age_ms": None,
            "reason": "gone from the workers that the discovery finds",
            "connection": "closed",
            "report": None,
        }
        stream = await accepted(other)
        await stream.report(wire_report(1))
        after = await lines_until(process, '"fresh"')
        assert other.address in after[-1]
        assert not [line for line in after if one.address in line]
        replace_file(path, text='["http')
        broken = await error_line(process)
        assert broken.startswith(f"loadmonitor: {path}: not JSON, or half-written: ")
        assert broken.endswith("; the workers found before stand\n")
        await stream.report(wire_report(2))
        assert other.address in (await lines_until(process, '"sequence_id": 2'))[-1]
        replace_file(path, text="[]")
        assert await error_line(process) == "loadmonitor: the discovery finds that there are no workers\n"
        replace_file(path, one)
        assert await error_line(process) == "loadmonitor: the discovery works, and finds workers\n"
        await (await accepted(one)).report(wire_report(3))
        assert one.address in (await lines_until(process, '"sequence_id": 3'))[-1]
        process.send_signal(signal.SIGTERM)
        _, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")


async def test_the_table_names_the_trouble_instead_of_standing_empty(tmp_path: Path) -> None:
    path = tmp_path / "workers.json"
    shown, terminal = pty.openpty()
    async with engine(wire_rank(0)) as (worker, _):
        process = await asyncio.create_subprocess_exec(
            COMMAND,
            *("watch", "--discover", f"file:{path}"),
            stdout=terminal,
            stderr=PIPE,
            env={**os.environ, "COLUMNS": "200", "TERM": "xterm"},
        )
        os.close(terminal)
        await read_until(shown, "no workers known", "No such file or directory; no workers are known")
        replace_file(path, worker)
        await read_until(shown, "1 worker · 1 fresh", worker.address)
        replace_file(path, text="[]")
        await read_until(shown, "no workers known", "the discovery finds that there are no workers")
        process.send_signal(signal.SIGTERM)
        draining = asyncio.create_task(asyncio.to_thread(drain, shown))
        _, err = await process.communicate()
        await draining
        os.close(shown)
    assert (process.returncode, err) == (0, b"")


async def read_until(terminal: int, *wanted: str) -> None:
    text = b""
    while not all(part.encode() in text for part in wanted):
        text += await asyncio.to_thread(os.read, terminal, 65_536)


async def test_a_single_look_that_finds_no_workers_is_not_a_success(tmp_path: Path) -> None:
    path = tmp_path / "workers.json"
    code, out, err = await run("watch", "--discover", f"file:{path}", "--once", "--timeout", "0.3")
    assert (code, out) == (1, "")
    assert err == f"loadmonitor: {path} can't be read: No such file or directory; no workers are known\n"
    path.write_text("[]")
    for how in (["--once"], ["--until", "fresh"]):
        code, out, err = await run("watch", "--discover", f"file:{path}", *how, "--timeout", "0.3")
        assert (code, out, err) == (1, "", "loadmonitor: the discovery finds that there are no workers\n")


async def test_the_reporters_of_what_is_found_listen_where_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "workers"
    async with engine(wire_rank(0)) as (worker, _):
        host, _, port = worker.address.rpartition(":")
        path.write_text(f"http://{host}:30000\n")
        code, out, err = await run(
            "watch", "--discover", f"file:{path}", "--reporter-port", port, "--once", "--timeout", "20"
        )
    assert (code, err) == (0, "")
    assert worker.address in out


async def test_an_export_follows_the_file_and_what_is_gone_has_no_series(tmp_path: Path) -> None:
    path = tmp_path / "workers.json"
    async with (
        engine(wire_rank(0, prefill_throughput=2_048.0)) as (one, _),
        engine(wire_rank(0)) as (other, _),
        exporter("--discover", f"file:{path}") as (process, address),
    ):
        missing = f"{path} can't be read: No such file or directory; no workers are known"
        assert await error_line(process) == f"loadmonitor: {missing}\n"
        ready = await asyncio.to_thread(get, address, "/readyz")
        assert ready[:2] == (503, f"none of 0 workers is fresh; {missing}\n")
        replace_file(path, one)
        series = (
            'loadmonitor_engine_queue_pressure_seconds{dp_rank="0",model_name="",worker="%s",worker_type="regular"}'
        )
        await fetch_until(address, "/metrics", f"{series % url(0)} 2.0\n")
        assert await error_line(process) == "loadmonitor: the discovery works, and finds workers\n"
        replace_file(path, other, one)  # both under another url
        both = await fetch_until(address, "/metrics", 'loadmonitor_router_workers{state="fresh"} 2.0')
        assert f"{series % url(1)} 2.0\n" in both
        assert series % url(0) not in both
        replace_file(path, other)
        left = await fetch_until(address, "/metrics", 'loadmonitor_router_workers{state="fresh"} 1.0')
        assert url(1) not in left
        replace_file(path, text="")
        emptied = f"{path}: empty: write [] to say that there are no workers; the workers found before stand"
        assert await error_line(process) == f"loadmonitor: {emptied}\n"
        await fetch_until(address, "/metrics", 'loadmonitor_router_workers{state="fresh"} 1.0')
        process.send_signal(signal.SIGTERM)
        _, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")


async def test_two_workers_of_one_url_are_told_and_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "workers.json"
    async with engine(wire_rank(0)) as (worker, _):
        replace_file(path, worker)
        async with exporter("--discover", f"file:{path}") as (process, address):
            await fetch_until(address, "/readyz", "ok")
            entries = [{"url": url(0), "reporter": reporter} for reporter in (worker.address, "127.0.0.1:1")]
            replace_file(path, text=json.dumps(entries))
            told = await error_line(process)
            assert "have one url" in told
            assert told.endswith("; the workers found before stand\n")
            assert (await asyncio.to_thread(get, address, "/readyz"))[:2] == (200, "ok\n")
