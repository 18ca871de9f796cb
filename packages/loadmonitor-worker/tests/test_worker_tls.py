"""TLS of a reporter with real certificates: who gets in, and what happens when the files change."""

import asyncio
import json
import logging
import socket
import ssl
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from certificates import Authority, Pair
from cryptography import x509
from worker_bench import Bench, Router, StartBench
from worker_process import run, running

from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import (
    BindError,
    ConfigError,
    CredentialFileError,
    ReporterConfig,
    SettingError,
    cli,
    start_load_reporter,
)
from loadmonitor_worker._tls import CertificateCache
from loadmonitor_worker._validity import not_after
from loadmonitor_worker.cli._flags import log_in_flags
from loadmonitor_worker.config import is_loopback
from loadmonitor_worker.testing import FakeSource, ManualClock


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


@pytest.fixture
def others(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "others")


def tls(pair: Pair, client_ca: Authority | None = None) -> dict[str, Any]:
    settings = {"tls_cert_file": pair.cert, "tls_key_file": pair.key}
    return settings if client_ca is None else settings | {"tls_client_ca_file": client_ca.ca_file}


async def connect(bench: Bench, ca: Authority, client: Pair | None = None) -> grpc.aio.Channel:
    key, cert = (None, None) if client is None else (client.key.read_bytes(), client.cert.read_bytes())
    credentials = grpc.ssl_channel_credentials(ca.ca_file.read_bytes(), key, cert)
    options = [("grpc.use_local_subchannel_pool", 1)]
    channel = grpc.aio.secure_channel(bench.reporter.address, credentials, options=options)
    return await bench.stack.enter_async_context(channel)


def call(bench: Bench, channel: grpc.aio.Channel) -> Router:
    router = Router(LoadMonitorStub(channel).Monitor())
    bench.stack.callback(router.call.done)  # held until then: a call that nobody holds is cancelled
    return router


async def dial(bench: Bench, ca: Authority, client: Pair | None = None) -> Router:
    return call(bench, await connect(bench, ca, client))


async def look(bench: Bench) -> None:
    """Let the reporter look at its files."""
    await bench.clock.advance(1_000)
    rotation = bench.reporter._server._rotation
    assert rotation is not None
    assert rotation._looking is not None
    await rotation._looking


async def shown(bench: Bench) -> bytes:
    """The certificate that a new client sees."""
    host, _, port = bench.reporter.address.rpartition(":")
    pem = await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)), timeout=30)
    return pem.encode()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "certificate" in record.getMessage()]


async def test_a_stream_outlives_the_rotation_after_which_new_clients_see_the_new_certificate(
    start: StartBench, ours: Authority
) -> None:
    pair = ours.issue("worker")
    bench = await start(**tls(pair))
    router = await dial(bench, ours)
    await router.register()
    first = await router.report()
    old = pair.cert.read_bytes()
    assert await shown(bench) == old
    ours.issue("worker")
    await look(bench)
    assert await shown(bench) == pair.cert.read_bytes() != old
    await bench.clock.advance(1_000)
    assert (await router.report()).sequence_id > first.sequence_id
    await (await dial(bench, ours)).register("another")
    assert bench.open_streams() == 2


async def test_a_whole_directory_exchanged_by_its_link_is_noticed_as_kubernetes_does_it(
    start: StartBench, ours: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "loadmonitor_worker")
    link = ours.folder / "data"

    def publish(version: str) -> Pair:
        folder = ours.folder / version
        folder.mkdir()
        pair = ours.issue(f"{version}/tls")
        link.with_name("next").symlink_to(folder)
        link.with_name("next").replace(link)
        return pair

    publish("1")
    bench = await start(**tls(Pair(link / "tls.pem", link / "tls.key")))
    newest = publish("2")
    await look(bench)
    assert await shown(bench) == newest.cert.read_bytes()
    assert lines(caplog) == ["the certificate files have changed: new connections get the new ones"]


async def test_a_certificate_exchanged_before_the_first_client_comes_is_the_one_it_sees(
    start: StartBench, ours: Authority
) -> None:
    pair = ours.issue("worker")
    bench = await start(**tls(pair))
    ours.issue("worker")
    await look(bench)
    assert await shown(bench) == pair.cert.read_bytes()


async def test_client_cas_are_exchanged_with_the_certificate(
    start: StartBench, ours: Authority, others: Authority
) -> None:
    bench = await start(**tls(ours.issue("worker"), ours))
    before = await dial(bench, ours, ours.issue("router-a", "router-a"))
    await before.register("a")
    await before.report()
    newcomer = others.issue("router-b", "router-b")
    with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
        await (await dial(bench, ours, newcomer)).register("b")
    ours.ca_file.write_bytes(others.ca_file.read_bytes())
    await look(bench)
    others_as_seen = Authority(ours.folder / "mixed", ours.ca)
    await (await dial(bench, others_as_seen, newcomer)).register("b")
    await bench.clock.advance(1_000)
    await before.report()


async def test_a_connection_that_stands_opens_streams_after_its_client_ca_was_exchanged(
    start: StartBench, ours: Authority, others: Authority
) -> None:
    bench = await start(**tls(ours.issue("worker"), ours))
    authority = Authority(ours.folder / "as-it-was", ours.ca)
    client = authority.issue("router-a", "router-a")
    channel = await connect(bench, authority, client)
    await call(bench, channel).register("before")
    ours.ca_file.write_bytes(others.ca_file.read_bytes())
    await look(bench)
    await call(bench, channel).register("after")
    with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
        await (await dial(bench, authority, client)).register("new")


def shake_hands(address: str, context: ssl.SSLContext, session: ssl.SSLSession | None) -> tuple[ssl.SSLSession, bool]:
    """Return the session of a connection that speaks HTTP/2, and whether it was resumed."""
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), timeout=30) as plain,
        context.wrap_socket(plain, server_hostname=host, session=session) as connection,
    ):
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0")
        assert connection.recv(1)
        assert connection.session is not None
        return connection.session, connection.session_reused is True


async def test_a_resumed_session_does_not_get_past_the_look_at_the_client_certificate(
    start: StartBench, ours: Authority
) -> None:
    bench = await start(**tls(ours.issue("worker"), ours))
    client = ours.issue("router", "router")
    context = ssl.create_default_context(cafile=ours.ca_file)
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(client.cert, client.key)
    session, _ = await asyncio.to_thread(shake_hands, bench.reporter.address, context, None)
    await look(bench)
    _, resumed = await asyncio.to_thread(shake_hands, bench.reporter.address, context, session)
    assert not resumed


@pytest.mark.parametrize("fault", ["no certificate", "another CA", "expired"])
async def test_with_a_client_ca_nobody_connects_without_a_valid_certificate_of_it(
    start: StartBench, ours: Authority, others: Authority, fault: str
) -> None:
    client = {
        "no certificate": None,
        "another CA": others.issue("router", "router"),
        "expired": ours.issue("router", "router", ended_days_ago=1),
    }[fault]
    bench = await start(**tls(ours.issue("worker"), ours))
    with pytest.raises(grpc.aio.AioRpcError, match="UNAVAILABLE"):
        await (await dial(bench, ours, client)).register()
    assert bench.open_streams() == 0
    assert bench.reporter.measure().session_events["registered"] == 0


async def test_without_tls_a_client_that_speaks_it_is_turned_away_and_the_next_is_served(
    bench: Bench, ours: Authority
) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match="WRONG_VERSION_NUMBER"):
        await (await dial(bench, ours)).register()
    await bench.registered()


@pytest.mark.parametrize("broken", ["another key", "no certificate", "missing", "no client CA"])
async def test_a_broken_new_file_leaves_the_old_certificate_and_is_told_once(
    start: StartBench, ours: Authority, others: Authority, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    caplog.set_level(logging.DEBUG, "loadmonitor_worker")
    pair = ours.issue("worker")
    bench = await start(**tls(pair, ours))
    client = ours.issue("router", "router")
    good = {path: path.read_bytes() for path in (pair.cert, pair.key, ours.ca_file)}
    if broken == "another key":
        pair.key.write_bytes(others.issue("worker").key.read_bytes())
    elif broken == "no certificate":
        pair.cert.write_text("soon")
    elif broken == "missing":
        pair.cert.unlink()
    else:
        ours.ca_file.write_text("soon")
    for _ in range(4):
        await look(bench)
    (told,) = lines(caplog)
    assert "can't be used" in told
    assert "the certificate read before" in told
    assert {"another key": str(pair.key), "no client CA": str(ours.ca_file)}.get(broken, str(pair.cert)) in told
    authority = Authority(ours.folder / "untouched", ours.ca)
    await (await dial(bench, authority, client)).register()
    for path, content in good.items():
        path.write_bytes(content)
    await look(bench)
    await look(bench)
    assert lines(caplog)[1:] == ["the certificate files are as they were before"]


async def test_files_that_one_look_finds_half_exchanged_are_no_news(
    start: StartBench, ours: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "loadmonitor_worker")
    pair = ours.issue("worker")
    bench = await start(**tls(pair))
    key = pair.key.read_bytes()
    ours.issue("worker")
    new_key = pair.key.read_bytes()
    pair.key.write_bytes(key)
    await look(bench)
    pair.key.write_bytes(new_key)
    await look(bench)
    assert lines(caplog) == ["the certificate files have changed: new connections get the new ones"]
    assert await shown(bench) == pair.cert.read_bytes()


def test_a_handshake_takes_what_lies_ready_and_touches_no_file(ours: Authority) -> None:
    pair = ours.issue("worker")
    cache = CertificateCache(pair.cert, pair.key, None)
    ours.issue("worker")
    assert cache.fetch() is None
    cache.refresh()
    pair.cert.unlink()
    pair.key.unlink()
    assert cache.fetch() is not None
    assert cache.fetch() is None


@pytest.mark.parametrize(
    ("setting", "content", "why"),
    [
        ("tls_cert_file", None, "No such file"),
        ("tls_key_file", None, "No such file"),
        ("tls_client_ca_file", None, "No such file"),
        ("tls_cert_file", "soon", "no PEM certificate chain"),
        ("tls_key_file", "soon", "no PEM certificate chain and unencrypted PEM key"),
        ("tls_client_ca_file", "soon", "it holds no PEM certificate"),
    ],
)
async def test_a_file_that_cannot_be_used_is_named_at_the_start(
    ours: Authority, setting: str, content: str | None, why: str
) -> None:
    settings = tls(ours.issue("worker"), ours)
    if content is None:
        settings[setting].unlink()
    else:
        settings[setting].write_text(content)
    clock = ManualClock()
    with pytest.raises(CredentialFileError, match=why) as caught:
        await start_load_reporter(ReporterConfig(port=0, **settings), FakeSource(clock), clock=clock)
    assert (caught.value.setting, caught.value.path) == (setting, settings[setting])


async def test_an_encrypted_key_is_refused_without_asking_anybody(ours: Authority) -> None:
    from cryptography.hazmat.primitives import serialization as form

    pair = ours.issue("worker")
    key = form.load_pem_private_key(pair.key.read_bytes(), None)
    lock = form.BestAvailableEncryption(b"hush")
    pair.key.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, lock))
    with pytest.raises(CredentialFileError, match="unencrypted PEM key"):
        CertificateCache(pair.cert, pair.key, None)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"tls_cert_file": Path("c")}, "tls_cert_file='c' needs tls_key_file"),
        ({"tls_key_file": Path("k")}, "tls_key_file='k' needs tls_cert_file"),
        ({"tls_client_ca_file": Path("a")}, "tls_client_ca_file='a' needs tls_cert_file"),
        ({"allow_router": ("a=b",)}, "needs tls_client_ca_file"),
        ({"auth_token_file": Path("t"), "host": "0.0.0.0"}, "tokens sent in plaintext to 0.0.0.0"),
    ],
)
def test_settings_that_promise_a_protection_they_do_not_give_are_refused(settings: dict[str, Any], fault: str) -> None:
    with pytest.raises(SettingError, match=fault):
        ReporterConfig(port=0, **settings)


def test_a_star_that_ends_no_id_is_refused_since_it_would_stand_for_itself(ours: Authority) -> None:
    allowed = ReporterConfig(port=0, **tls(ours.issue("worker"), ours), allow_router=("a=*", "a=b-*", "*.example=c"))
    for pair in ("a=*-b", "a=b*c", "a=b**"):
        with pytest.raises(SettingError, match="may only end an id"):
            replace(allowed, allow_router=(pair,))


@pytest.mark.parametrize("pair", ["a", "=b", "a=", ""])
def test_a_pair_that_is_none_is_refused(ours: Authority, pair: str) -> None:
    with pytest.raises(ConfigError, match="NAME=ROUTER_ID is"):
        ReporterConfig(port=0, allow_router=(pair,), **tls(ours.issue("worker"), ours))


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        *((host, True) for host in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "LocalHost")),
        *((host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "worker-7")),
    ],
)
def test_only_loopback_addresses_count_as_this_machine(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


async def test_plaintext_beyond_this_machine_is_announced(
    start: StartBench, ours: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = "192.0.2.1"  # an address that no machine has
    await start()
    with pytest.raises(BindError):
        await start(host=elsewhere, **tls(ours.issue("worker")))
    assert "plaintext" not in caplog.text
    with pytest.raises(BindError):
        await start(host=elsewhere)
    assert f"served in plaintext on {elsewhere}:" in caplog.text
    assert "give tls_cert_file and tls_key_file" in caplog.text


async def test_no_key_shows_in_logs_reprs_or_errors(
    start: StartBench, ours: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    pair = ours.issue("worker")
    secrets = {line for line in pair.key.read_text().splitlines() if not line.startswith("-")}
    bench = await start(**tls(pair))
    cache = CertificateCache(pair.cert, pair.key, None)
    pair.cert.write_bytes(pair.key.read_bytes())  # the key where the certificate belongs
    await look(bench)
    await look(bench)
    with pytest.raises(CredentialFileError) as caught:
        CertificateCache(pair.cert, pair.key, None)
    seen = f"{caplog.text} {caught.value!r} {caught.value} {cache!r} {cache._material!r} {bench.reporter._server._config!r}"
    assert "can't be used" in seen
    assert not [secret for secret in secrets if secret in seen]


def test_a_file_that_serve_cannot_use_is_one_line_with_its_flag(ours: Authority) -> None:
    pair = ours.issue("worker")
    serve = ("serve", "--source", "synthetic", "--listen", "127.0.0.1:0", "--tls-key-file", str(pair.key))
    missing = run(*serve, "--tls-cert-file", "/nowhere/tls.crt")
    assert missing.returncode == 2
    assert (
        missing.stderr
        == "loadmonitor-worker: --tls-cert-file /nowhere/tls.crt can't be used: No such file or directory\n"
    )
    half = run(*serve)
    assert half.returncode == 2
    assert "(--tls-key-file) needs --tls-cert-file: give both" in half.stderr


async def test_a_handshake_forges_no_line_of_the_log_of_serve(ours: Authority) -> None:
    pair = ours.issue("worker")
    files = ("--tls-cert-file", str(pair.cert), "--tls-key-file", str(pair.key), "--log-format", "json")
    async with running("serve", "--source", "synthetic", "--listen", "127.0.0.1:0", *files) as (process, line):
        host, _, port = line.removeprefix("listening on ").rpartition(":")
        context = ssl.create_default_context(cafile=ours.ca_file)
        context.set_alpn_protocols(["h2"])
        with pytest.raises(ssl.CertificateError, match="forged"):
            await asyncio.open_connection(host, int(port), ssl=context, server_hostname="x\nINFO forged")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"no handshake at all\r\n\r\n")
        writer.close()
        process.terminate()
        assert process.stderr is not None
        logged = (await process.stderr.read()).decode().splitlines()
    assert [json.loads(line)["message"] for line in logged] == ["closing: 0 routers are told"]


async def test_a_certificate_that_has_expired_is_served_and_told_once_whether_at_the_start_or_when_exchanged(
    start: StartBench, ours: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    pair = ours.issue("worker", ended_days_ago=2)
    bench = await start(**tls(pair))
    (told,) = lines(caplog) or [""]
    assert f"tls_cert_file={pair.cert} expired at 20" in told
    assert await shown(bench) == pair.cert.read_bytes()
    await look(bench)
    ours.issue("worker")
    await look(bench)
    assert len([line for line in lines(caplog) if "expired" in line]) == 1
    ours.issue("worker", ended_days_ago=1)
    await look(bench)
    await look(bench)
    assert len([line for line in lines(caplog) if "expired" in line]) == 2


def test_a_certificate_that_expires_while_it_is_served_is_told_once(
    ours: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    pair = ours.issue("worker")
    now = [time.time()]
    cache = CertificateCache(pair.cert, pair.key, None, lambda: now[0])
    cache.refresh()
    assert lines(caplog) == []
    now[0] += 366 * 86_400
    cache.refresh()
    cache.refresh()
    (told,) = lines(caplog)
    assert "expired at" in told


def test_the_end_of_a_certificate_is_read_in_both_forms_of_a_time(ours: Authority) -> None:
    for years in (1, 40):  # from 2050 on a time has four digits of its year
        pair = ours.issue("worker", ended_days_ago=-365 * years)
        certificate = x509.load_pem_x509_certificate(pair.cert.read_bytes())
        assert not_after(pair.cert.read_bytes()) == certificate.not_valid_after_utc
    assert not_after(b"none") is None
    assert not_after(b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----") is None


def test_check_names_an_expired_certificate_and_fails(
    ours: Authority, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ours.issue("worker")
    monkeypatch.setenv("LOADMONITOR_TLS_CERT_FILE", str(pair.cert))
    monkeypatch.setenv("LOADMONITOR_TLS_KEY_FILE", str(pair.key))
    assert cli.run(["check", "--source", "synthetic"]) == 0
    assert "ok    tls" in capsys.readouterr().out
    ours.issue("worker", ended_days_ago=1)
    assert cli.run(["check", "--source", "synthetic"]) == 1
    assert f"fail  tls        --tls-cert-file {pair.cert} expired at" in capsys.readouterr().out


def test_errors_and_log_lines_of_the_command_name_flags_and_no_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["serve", "--source", "synthetic", "--listen", "0.0.0.0:0", "--auth-token-file", "t"]) == 2
    told = capsys.readouterr().err
    assert "give --tls-cert-file and --tls-key-file too" in told
    record = logging.makeLogRecord({"msg": "give tls_cert_file and %s (host)", "args": ("127.0.0.1",)})
    assert log_in_flags(record)
    assert record.getMessage() == "give --tls-cert-file and 127.0.0.1 (--listen)"
