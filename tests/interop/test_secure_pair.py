"""The Worker's reporter and the Router's client over TLS: rotation under a running stream, and what stands between them."""

import asyncio
import os
import ssl
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pytest
from certificates import Authority

from loadmonitor_router import (
    Connection,
    ConnectionState,
    Credentials,
    MonitorClient,
    StreamRefusedError,
    TlsFault,
)
from loadmonitor_worker import LoadReporter, ReporterConfig, start_load_reporter
from loadmonitor_worker.sources import SyntheticSource

WAIT_SECONDS = 40
SECRET = "s3cr3t-0f-0ne"  # noqa: S105 - made up
BIN = Path(sys.executable).parent


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text(SECRET)
    return file


def served_by(ours: Authority) -> dict[str, Any]:
    pair = ours.issue("worker")
    return {"tls_cert_file": pair.cert, "tls_key_file": pair.key}


def shown_by(ours: Authority, name: str) -> Credentials:
    pair = ours.issue(name, name)
    return Credentials(tls_ca_file=ours.ca_file, tls_cert_file=pair.cert, tls_key_file=pair.key)


@asynccontextmanager
async def reporting(**settings: Any) -> AsyncIterator[LoadReporter]:
    reporter = await start_load_reporter(ReporterConfig(port=0, **settings), SyntheticSource(dp_size=2))
    assert reporter is not None
    async with reporter:
        yield reporter


@asynccontextmanager
async def command(name: str, *arguments: object) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(BIN / name, *map(str, arguments), stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def line_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


async def certificate_at(address: str) -> str:
    host, _, port = address.rpartition(":")
    return await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)), timeout=30)


async def test_a_sidecar_exchanges_its_certificate_in_one_process_under_a_stream_that_lives_on(
    ours: Authority, token_file: Path
) -> None:
    pair = ours.issue("worker")
    files = ("--tls-cert-file", pair.cert, "--tls-key-file", pair.key, "--auth-token-file", token_file)
    given = ("--tls-ca-file", ours.ca_file, "--token-file", token_file)
    async with command(
        "loadmonitor-worker", "serve", "--source", "synthetic", "--listen", "127.0.0.1:0", *files
    ) as sidecar:
        address = (await line_of(sidecar)).removeprefix("listening on ")
        credentials = Credentials(tls_ca_file=ours.ca_file, token_file=token_file)
        async with MonitorClient(address, router_id="old", report_interval_ms=100, credentials=credentials) as old:
            before = await anext(old)
            first = await certificate_at(address)
            ours.issue("worker")
            while (second := await certificate_at(address)) == first:  # noqa: ASYNC110 - what is waited for is the file's effect
                await asyncio.sleep(0.1)
            assert second == pair.cert.read_text()
            after = await anext(old)
            while after.sequence_id < before.sequence_id + 3:
                after = await anext(old)
            assert after.source_instance_id == before.source_instance_id
            assert old.connection.reconnects == 0
            async with MonitorClient(address, router_id="new", credentials=credentials) as new:
                assert (await anext(new)).source_instance_id == before.source_instance_id
        assert sidecar.returncode is None
        os.kill(sidecar.pid, 0)
        async with command("loadmonitor", "watch", address, "--once", "--timeout", 30, *given) as watch:
            output, _ = await watch.communicate()
            assert (watch.returncode, b"fresh" in output) == (0, True), output
        async with command("loadmonitor", "watch", address, "--once", "--timeout", 2) as watch:
            output, _ = await watch.communicate()
            assert watch.returncode == 1
            assert b"the Worker speaks TLS: give its CA as --tls-ca-file" in output
        sidecar.terminate()
        _, logged = await sidecar.communicate()
    assert b"the certificate files have changed" in logged
    assert SECRET.encode() not in logged


async def test_a_router_that_is_refused_hears_why_and_the_holder_of_the_id_keeps_its_stream(ours: Authority) -> None:
    settings = served_by(ours) | {"tls_client_ca_file": ours.ca_file, "allow_router": ("router-a=a", "router-b=b")}
    async with (
        reporting(**settings) as reporter,
        MonitorClient(
            reporter.address, router_id="a", report_interval_ms=50, credentials=shown_by(ours, "router-a")
        ) as holder,
    ):
        await anext(holder)
        async with MonitorClient(reporter.address, router_id="a", credentials=shown_by(ours, "router-b")) as rival:
            with pytest.raises(StreamRefusedError, match="'a' doesn't belong to the certificate") as refused:
                await anext(rival)
        assert refused.value.code == "PERMISSION_DENIED"
        await anext(holder)
        await anext(holder)
        assert holder.connection.reconnects == 0


class Relay:
    """A middlebox: passes bytes on, remembers them, and when told to changes what the Worker sends: one byte, or words."""

    def __init__(self, address: str) -> None:
        self._target = address
        self._tasks: set[asyncio.Task[None]] = set()
        self.seen = b""
        self.meddle = False
        self.words = (b"", b"")

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self._target.rpartition(":")
        with suppress(OSError):
            inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
            pumps = ((reader, inner_writer, False), (inner_reader, writer, True))
            for source, sink, from_worker in pumps:
                task = asyncio.create_task(self._pump(source, sink, from_worker=from_worker))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, from_worker: bool) -> None:
        try:
            while data := await source.read(65_536):
                if from_worker and self.meddle:
                    self.meddle = False
                    data = data[:-1] + bytes([data[-1] ^ 1])
                if from_worker:
                    data = data.replace(*self.words)
                self.seen += data
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()


@pytest.mark.parametrize("encrypted", [False, True])
async def test_a_middlebox_reads_plaintext_and_nothing_of_tls(
    ours: Authority, token_file: Path, encrypted: bool
) -> None:
    settings = served_by(ours) if encrypted else {}
    ca_file = ours.ca_file if encrypted else None
    async with (
        reporting(auth_token_file=token_file, model="the-model", **settings) as reporter,
        Relay(reporter.address) as relay,
        MonitorClient(
            relay.address,
            router_id="the-router",
            credentials=Credentials(tls_ca_file=ca_file, token_file=token_file),
        ) as client,
    ):
        assert (await anext(client)).worker.model == "the-model"
        read = [word.encode() in relay.seen for word in ("the-router", "the-model")]
    assert read == [not encrypted] * 2


async def test_a_middlebox_changes_plaintext_unnoticed() -> None:
    async with reporting(model="the-model") as reporter, Relay(reporter.address) as relay:
        relay.words = (b"the-model", b"THE-MODEL")
        async with MonitorClient(relay.address, router_id="r") as client:
            assert (await anext(client)).worker.model == "THE-MODEL"


async def test_a_middlebox_that_changes_a_byte_of_a_tls_stream_breaks_it_and_no_report_of_it_is_taken(
    ours: Authority,
) -> None:
    async with (
        reporting(**served_by(ours)) as reporter,
        Relay(reporter.address) as relay,
        MonitorClient(
            relay.address,
            router_id="r",
            report_interval_ms=50,
            credentials=Credentials(tls_ca_file=ours.ca_file),
        ) as client,
    ):
        async with asyncio.timeout(WAIT_SECONDS):
            await anext(client)
            relay.meddle = True
            while client.connection.reconnects == 0:
                assert (await anext(client)).ranks
            assert client.connection.last_drop is None


async def test_a_middlebox_that_ends_tls_itself_is_not_spoken_to(ours: Authority, tmp_path: Path) -> None:
    theirs = Authority(tmp_path / "middlebox")
    states: asyncio.Queue[Connection] = asyncio.Queue()
    async with (
        reporting(**served_by(theirs)) as middlebox,
        MonitorClient(
            middlebox.address,
            router_id="r",
            credentials=Credentials(tls_ca_file=ours.ca_file),
            on_connection=states.put_nowait,
        ),
    ):
        async with asyncio.timeout(WAIT_SECONDS):
            while (lost := await states.get()).state is not ConnectionState.BACKING_OFF:
                pass
        assert lost.tls_fault is TlsFault.UNKNOWN_CA
        assert middlebox.measure().session_events["registered"] == 0
