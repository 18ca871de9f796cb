"""TLS of the client with real certificates: what fails says what to change, and what was mended counts at the next dialling."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority, Pair
from secure_worker import SecureWorker, States

from loadmonitor_router import (
    ConfigError,
    ConnectionState,
    Credentials,
    LoadMonitor,
    MonitorClient,
    ReconnectReason,
    StreamRefusedError,
    TlsFault,
    WorkerTarget,
)
from loadmonitor_router._credential_files import read_metadata, read_tls
from loadmonitor_router.testing import ManualClock, wire_report

pytestmark = pytest.mark.usefixtures("leaves_nothing")

SECRET = "s3cr3t-0f-0ne"  # noqa: S105 - made up
NEXT = "an0ther-0ne"


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


@pytest.fixture
def others(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "others")


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    return write(tmp_path / "token", SECRET + "\n")


def write(file: Path, content: str | bytes) -> Path:
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def spoil(file: Path, content: str | bytes | None) -> bytes:
    """Put this in the place of the file, or nothing; return what it held."""
    good = file.read_bytes()
    if content is None:
        file.unlink()
    else:
        write(file, content)
    return good


def own(ca: Authority, client: Pair | None = None, **more: Any) -> Credentials:
    pair: dict[str, Any] = {} if client is None else {"tls_cert_file": client.cert, "tls_key_file": client.key}
    return Credentials(tls_ca_file=ca.ca_file, **pair, **more)


Case = Callable[[Authority, Authority], tuple[SecureWorker, Credentials]]
CASES: dict[str, tuple[Case, TlsFault, str]] = {
    "wrong CA": (
        lambda ours, others: (SecureWorker(ours.issue("worker")), own(others)),
        TlsFault.UNKNOWN_CA,
        "give the Workers' CA as tls_ca_file",
    ),
    "expired": (
        lambda ours, _: (SecureWorker(ours.issue("worker", ended_days_ago=1)), own(ours)),
        TlsFault.EXPIRED,
        "renew it",
    ),
    "not yet valid": (
        lambda ours, _: (SecureWorker(ours.issue("worker", ended_days_ago=-900)), own(ours)),
        TlsFault.NOT_YET_VALID,
        "set the clock right",
    ),
    "wrong SAN": (
        lambda ours, _: (SecureWorker(ours.issue("worker", "elsewhere.example")), own(ours)),
        TlsFault.WRONG_NAME,
        "isn't for the host that was dialled: give a name that stands in it as tls_server_name",
    ),
    "wrong server name": (
        lambda ours, _: (SecureWorker(ours.issue("worker")), own(ours, tls_server_name="elsewhere.example")),
        TlsFault.WRONG_NAME,
        "isn't for elsewhere.example",
    ),
    "no client certificate": (
        lambda ours, _: (SecureWorker(ours.issue("worker"), ours), own(ours)),
        TlsFault.NO_CLIENT_CERTIFICATE,
        "give this router's as tls_cert_file and tls_key_file",
    ),
    "client certificate of another CA": (
        lambda ours, others: (SecureWorker(ours.issue("worker"), ours), own(ours, others.issue("router", "router"))),
        TlsFault.CLIENT_CERTIFICATE_REFUSED,
        "a CA of the Worker's tls_client_ca_file must have signed it",
    ),
    "client certificate expired": (
        lambda ours, _: (
            SecureWorker(ours.issue("worker"), ours),
            own(ours, ours.issue("router", "router", ended_days_ago=1)),
        ),
        TlsFault.CLIENT_CERTIFICATE_REFUSED,
        "it must not have expired",
    ),
    "plaintext client, TLS port": (
        lambda ours, _: (SecureWorker(ours.issue("worker")), Credentials()),
        TlsFault.TLS_WORKER,
        "the Worker speaks TLS: give its CA as tls_ca_file",
    ),
    "plaintext client, mutual TLS port": (
        lambda ours, _: (SecureWorker(ours.issue("worker"), ours), Credentials()),
        TlsFault.TLS_WORKER,
        "the Worker speaks TLS: give its CA as tls_ca_file",
    ),
    "TLS client, plain port": (
        lambda ours, _: (SecureWorker(), own(ours)),
        TlsFault.PLAINTEXT_WORKER,
        "the Worker speaks plaintext: switch its TLS on (its tls_cert_file), or leave out tls_ca_file here",
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_connection_that_fails_at_its_tls_says_what_to_change(
    clock: ManualClock, ours: Authority, others: Authority, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    make, fault, advice = CASES[name]
    worker, credentials = make(ours, others)
    states = States()
    async with (
        worker,
        MonitorClient(
            worker.address, router_id="r", credentials=credentials, on_connection=states.put_nowait, clock=clock
        ),
    ):
        lost = await states.until(ConnectionState.BACKING_OFF)
    assert lost.tls_fault is fault
    assert lost.last_error is not None
    assert lost.last_error.startswith("TLS: ")
    assert advice in lost.last_error
    assert advice in caplog.text
    assert ReconnectReason.of(lost.last_error) is ReconnectReason.TLS
    assert worker.authorizations == []


@pytest.mark.parametrize("mutual", [False, True])
async def test_over_tls_reports_arrive(clock: ManualClock, ours: Authority, mutual: bool) -> None:
    worker = SecureWorker(ours.issue("worker"), ours if mutual else None)
    credentials = own(ours, ours.issue("router", "router-a") if mutual else None)
    async with worker, MonitorClient(worker.address, router_id="r", credentials=credentials, clock=clock) as client:
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        assert (await anext(client)).sequence_id == 1
        assert client.connection.tls_fault is None


async def test_the_name_in_the_certificate_may_be_another_than_the_host(clock: ManualClock, ours: Authority) -> None:
    worker = SecureWorker(ours.issue("worker", "workers.example"))
    credentials = own(ours, tls_server_name="workers.example")
    async with worker, MonitorClient(worker.address, router_id="r", credentials=credentials, clock=clock):
        await worker.accept()


async def test_a_client_takes_up_new_files_when_it_dials_again(
    clock: ManualClock, ours: Authority, others: Authority
) -> None:
    """A CA, a certificate and a key that were exchanged: each counts from the next dialling on."""
    states = States()
    client_pair = others.issue("router", "router")
    credentials = own(ours, client_pair)
    async with SecureWorker(ours.issue("worker"), others) as worker:
        address = worker.address
        client = MonitorClient(
            address, router_id="r", credentials=credentials, on_connection=states.put_nowait, clock=clock
        )
        await client.__aenter__()
        await (await worker.accept()).acknowledge()
        await states.until(ConnectionState.REGISTERED)
        # Exchanged on disk while the stream lives, which doesn't notice.
        fresh = ours.issue("router", "router")
        write(client_pair.cert, fresh.cert.read_bytes())
        write(client_pair.key, fresh.key.read_bytes())
        newer_pair = others.issue("worker")
        write(ours.folder / "old-ca.pem", ours.ca_file.read_bytes())
        assert client.connection.state is ConnectionState.REGISTERED
    write(ours.ca_file, others.ca_file.read_bytes())
    before = Authority(ours.folder / "before", ours.ca)
    try:
        async with SecureWorker(newer_pair, before, port=worker.port) as successor:
            await states.until(ConnectionState.BACKING_OFF)
            await clock.advance(200)
            await (await successor.accept()).acknowledge()
            await states.until(ConnectionState.REGISTERED)
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("setting", "content"),
    [
        ("tls_ca_file", None),
        ("tls_ca_file", "soon"),
        ("tls_cert_file", None),
        ("tls_cert_file", "soon"),
        ("tls_key_file", "soon"),
        ("tls_key_file", "another key"),
        ("token_file", None),
        ("token_file", "\n"),
        ("token_file", "two words"),
        ("token_file", "two\nlines"),
        ("token_file", "\xff"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_until_it_is_mended(
    clock: ManualClock, ours: Authority, token_file: Path, setting: str, content: str | None
) -> None:
    states = States()
    worker = SecureWorker(ours.issue("worker"), ours)
    credentials = own(ours, ours.issue("router", "router"), token_file=token_file)
    file: Path = getattr(credentials, setting)
    async with worker:
        good = spoil(file, ours.issue("other").key.read_bytes() if content == "another key" else content)
        settings: dict[str, Any] = {"on_connection": states.put_nowait, "clock": clock}
        async with MonitorClient(worker.address, router_id="r", credentials=credentials, **settings):
            lost = await states.until(ConnectionState.BACKING_OFF)
            assert lost.tls_fault is TlsFault.CREDENTIAL_FILE
            assert lost.last_error is not None
            assert str(file) in lost.last_error
            assert ReconnectReason.of(lost.last_error) is ReconnectReason.TLS
            write(file, good)
            await clock.advance(200)
            await worker.accept()


async def test_the_token_is_read_again_at_each_dialling(clock: ManualClock, token_file: Path) -> None:
    states = States()
    credentials = Credentials(token_file=token_file)
    settings: dict[str, Any] = {"on_connection": states.put_nowait, "clock": clock}
    async with SecureWorker() as worker:
        async with MonitorClient(worker.address, router_id="r", credentials=credentials, **settings):
            stream = await worker.accept()
            write(token_file, NEXT)
            await stream.end()
            await states.until(ConnectionState.BACKING_OFF)
            await clock.advance(200)
            await worker.accept()
        assert worker.authorizations == [(f"Bearer {SECRET}",), (f"Bearer {NEXT}",)]


async def test_without_a_token_file_no_authorization_is_sent(clock: ManualClock) -> None:
    async with SecureWorker() as worker, MonitorClient(worker.address, router_id="r", clock=clock):
        await worker.accept()
        assert worker.authorizations == [()]


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"tls_cert_file": Path("c"), "tls_key_file": Path("k")}, "tls_cert_file=c needs tls_ca_file"),
        ({"tls_ca_file": Path("a"), "tls_cert_file": Path("c")}, "tls_cert_file=c needs tls_key_file"),
        ({"tls_ca_file": Path("a"), "tls_key_file": Path("k")}, "tls_key_file=k needs tls_cert_file"),
        ({"tls_server_name": "w"}, "tls_server_name=w needs tls_ca_file"),
        ({"tls_ca_file": Path("a"), "tls_server_name": " "}, "is blank"),
    ],
)
def test_half_of_what_belongs_together_is_refused(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Credentials(**settings)


@pytest.mark.parametrize(
    ("address", "fits"),
    [
        ("127.0.0.1:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("10.0.0.1:1", False),
        ("worker:1", False),
        ("[::]:1", False),
    ],
)
def test_a_token_goes_to_another_machine_over_tls_only(token_file: Path, address: str, fits: bool) -> None:
    MonitorClient(address, router_id="r", credentials=Credentials(tls_ca_file=Path("a"), token_file=token_file))
    plain = Credentials(token_file=token_file)
    if fits:
        MonitorClient(address, router_id="r", credentials=plain)
        return
    with pytest.raises(ConfigError, match="in plaintext"):
        MonitorClient(address, router_id="r", credentials=plain)


async def test_a_monitor_hands_its_credentials_to_every_worker(ours: Authority, token_file: Path) -> None:
    worker = SecureWorker(ours.issue("worker"), ours)
    credentials = own(ours, ours.issue("router", "router"), token_file=token_file)
    async with worker, LoadMonitor(router_id="r", credentials=credentials) as monitor:
        monitor.reconcile([WorkerTarget(url="http://127.0.0.1:30000", reporter=worker.address)])
        stream = await worker.accept()
        await stream.acknowledge()
        await stream.report(wire_report(1))
        async for fleet in monitor.changes():
            if fleet.workers["http://127.0.0.1:30000"].report is not None:
                break
        assert worker.authorizations == [(f"Bearer {SECRET}",)]


async def test_a_hang_up_that_has_nothing_to_do_with_tls_is_not_blamed_on_it(clock: ManualClock) -> None:
    states = States()
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings: dict[str, Any] = {"on_connection": states.put_nowait, "clock": clock}
    async with server, MonitorClient(f"127.0.0.1:{port}", router_id="r", **settings):
        lost = await states.until(ConnectionState.BACKING_OFF)
    assert lost.tls_fault is None
    assert ReconnectReason.of(lost.last_error) is ReconnectReason.CONNECTION_LOST


async def test_no_secret_shows_in_logs_reprs_or_errors(
    clock: ManualClock, ours: Authority, token_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    states = States()
    worker = SecureWorker(ours.issue("worker"), ours)
    client_pair = ours.issue("router", "router")
    credentials = own(ours, client_pair, token_file=token_file)
    settings: dict[str, Any] = {"on_connection": states.put_nowait, "clock": clock}
    key = {line for line in client_pair.key.read_text().splitlines() if not line.startswith("-")}
    seen = f"{read_tls(credentials)!r} {credentials!r}"
    async with worker:
        client = MonitorClient(worker.address, router_id="r", credentials=credentials, **settings)
        async with client:
            await (await worker.accept()).fail("PERMISSION_DENIED", "not you")
            with pytest.raises(StreamRefusedError) as refused:
                await anext(client)
            seen += f"{client!r} {vars(client)!r} {client.connection!r} {refused.value!r}"
        write(token_file, f"{SECRET} {SECRET}")
        write(client_pair.cert, client_pair.key.read_bytes())
        async with client:
            lost = await states.until(ConnectionState.BACKING_OFF)
        no_tls = replace(credentials, tls_ca_file=None, tls_cert_file=None, tls_key_file=None)
        with pytest.raises(ConfigError) as unusable:
            read_metadata(no_tls)
    seen += f"{lost!r} {unusable.value!r} {caplog.text}"
    assert "not you" in seen
    assert "can't be used" in seen
    assert not [secret for secret in (SECRET, *key) if secret in seen]
