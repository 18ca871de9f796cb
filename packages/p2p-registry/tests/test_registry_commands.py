"""The commands `serve` and `list`, as functions and as processes."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import grpc
import grpc.aio
import pytest
from certificates import Authority
from registry_bench import (
    COMMAND,
    NOT_SERVING,
    SERVING,
    WAIT_SECONDS,
    Store,
    ask,
    beat,
    dialled,
    publish,
    serving,
    watch,
)

from p2p_registry import SourceStatus as RecordStatus
from p2p_registry import WorkerSummary
from p2p_registry.cli import list as listing
from p2p_registry.cli import run
from p2p_registry.cli._connecting import RegistryFlags, registry_address
from p2p_registry.cli._looking import Look, Row
from p2p_registry.cli.serve import backend_url, kind_of
from p2p_registry.errors import SettingError
from p2p_registry.server import RegistryStub
from p2p_registry.serving import RegistryServer, ServerConfig
from p2p_registry.wire import ListSourcesRequest, SourceIdentity, SourceInstanceRef, SourceStatus


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("MX_", "MODEL_EXPRESS_", "REDIS_URL")):
            monkeypatch.delenv(name)


@pytest.fixture
async def store() -> Store:
    return Store()


@pytest.fixture
async def server(store: Store) -> AsyncIterator[RegistryServer]:
    async with RegistryServer(store, ServerConfig(listen="127.0.0.1:0")) as server:
        yield server


@pytest.fixture
async def stub(server: RegistryServer) -> AsyncIterator[RegistryStub]:
    async with dialled(server.address) as channel:
        yield RegistryStub(channel)


def look_at(server: RegistryServer, model: str | None = None, rank: int | None = None) -> Look:
    return Look(RegistryFlags(registry=server.address), model, rank, WAIT_SECONDS)


async def listed(server: RegistryServer, capsys: pytest.CaptureFixture[str], **wanted: Any) -> list[dict[str, Any]]:
    assert await listing._once(look_at(server, **wanted), json_lines=True) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


async def test_json_is_one_object_a_worker_with_null_for_unknown(
    server: RegistryServer, stub: RegistryStub, capsys: pytest.CaptureFixture[str]
) -> None:
    source_id = await publish(stub, "w")
    assert (await beat(stub, source_id, "w", 0.25)).success
    ((row),) = await listed(server, capsys)
    assert row.pop("updated_at") > 1_700_000_000_000
    assert row == {
        "schema": "p2p-registry.list/1",
        "mx_source_id": source_id,
        "model_name": "m",
        "worker_id": "w",
        "worker_rank": 0,
        "status": "READY",
        "source_load": 0.25,
        "accelerator": "cuda",
        "topology": {"rack": "r1"},
        "training_step": None,
        "layout_signature": None,
        "note": "",
    }


async def test_a_load_that_is_unset_is_not_zero_and_one_that_is_no_number_is_unknown(
    server: RegistryServer, stub: RegistryStub, capsys: pytest.CaptureFixture[str]
) -> None:
    loads = {"a": None, "b": 0.0, "c": float("nan"), "d": float("inf"), "e": 42.0}
    for worker_id, load in loads.items():
        await beat(stub, await publish(stub, worker_id), worker_id, load)
    rows = await listed(server, capsys)
    assert [(row["worker_id"], row["source_load"], row["note"]) for row in rows] == [
        ("a", None, "load unknown: the worker doesn't tell one"),
        ("b", 0.0, ""),
        ("c", None, "load unknown: the worker tells nan"),
        ("d", None, "load unknown: the worker tells inf"),
        ("e", 42.0, "its load isn't from 0 to 1"),
    ]
    await listing._once(look_at(server), json_lines=False)
    titles, first, second, *_ = capsys.readouterr().out.splitlines()
    assert titles.split() == ["MODEL", "RANK", "WORKER", "STATUS", "LOAD", "HEARTBEAT", "NOTE"]
    assert first.split()[:5] == ["m", "0", "a", "READY", "-"]
    assert second.split()[:5] == ["m", "0", "b", "READY", "0.00"]


async def test_what_pullers_are_not_shown_is_listed_with_the_reason(
    store: Store, server: RegistryServer, stub: RegistryStub, capsys: pytest.CaptureFixture[str]
) -> None:
    for worker_id in ("ahead", "silent", "stale", "starting", "unknown", "well"):
        source_id = await publish(stub, worker_id)
        if worker_id != "unknown":
            await beat(stub, source_id, worker_id, 0.5)
    await beat(stub, source_id, "stale", 0.5, SourceStatus.SOURCE_STATUS_STALE)
    await beat(stub, source_id, "starting", 0.5, SourceStatus.SOURCE_STATUS_INITIALIZING)
    for worker_id, milliseconds in (("silent", -91_000), ("ahead", 3_600_000)):
        ranks = store._sources[source_id][worker_id].ranks
        state = replace(ranks[0].summary.state, updated_at_ms=ranks[0].summary.state.updated_at_ms + milliseconds)
        ranks[0] = replace(ranks[0], summary=replace(ranks[0].summary, state=state))
    rows = {row["worker_id"]: (row["status"], row["note"]) for row in await listed(server, capsys)}
    assert rows == {
        "ahead": (
            "READY",
            "its last heartbeat is of a time to come, by a clock that was ahead: pullers aren't shown it",
        ),
        "silent": ("READY", "its last heartbeat is too old: pullers aren't shown it"),
        "stale": ("STALE", ""),
        "starting": ("INITIALIZING", ""),
        "unknown": ("UNKNOWN", "load unknown: the worker doesn't tell one"),
        "well": ("READY", ""),
    }
    await listing._once(look_at(server), json_lines=False)
    (silent,) = [line for line in capsys.readouterr().out.splitlines() if "silent" in line]
    assert int(silent.split()[5].removesuffix("s")) >= 91


async def test_a_status_that_no_list_tells_is_unknown_and_no_worker_is_called_silent_for_it(
    store: Store, server: RegistryServer, stub: RegistryStub, capsys: pytest.CaptureFixture[str]
) -> None:
    await beat(stub, await publish(stub, "w"), "w", 0.5)
    store.summaries_left = 1
    (row,) = await listed(server, capsys)
    assert (row["status"], row["source_load"], row["note"]) == (None, 0.5, "status unknown: look again")


async def test_a_store_that_fails_sends_nobody_away_from_a_list_that_is_watched(
    store: Store, server: RegistryServer, stub: RegistryStub, capsys: pytest.CaptureFixture[str]
) -> None:
    await publish(stub, "w")
    looks = 0

    class Counting(Look):
        async def rows(self, channel: grpc.aio.Channel) -> list[Row]:
            nonlocal looks
            looks += 1
            return await super().rows(channel)

    async def seen(more: int) -> None:
        enough = looks + more
        while looks < enough:
            await stub.ListSources(ListSourcesRequest())

    class Remembering(listing._Changes):
        shown: ClassVar[set[tuple[int, str | None]]] = set()

        def show(self, rows: Sequence[Row], fault: str | None) -> None:
            self.shown.add((len(rows), fault))
            super().show(rows, fault)

    look = Counting(RegistryFlags(registry=server.address), None, None, WAIT_SECONDS)
    async with look.open() as channel:
        watching = asyncio.create_task(listing._follow(look, channel, Remembering(json_lines=False), 0.001))
        await seen(2)
        store.gone = True  # and no probe has noticed yet
        await seen(2)
        await server.health.look()
        await seen(2)
        store.gone = False
        await server.health.look()
        await seen(2)
        watching.cancel()
        await asyncio.wait({watching})
    # What was known stays on a live table, below the fault.
    assert Remembering.shown == {(1, None), (1, "the registry's store doesn't answer")}
    out, err = capsys.readouterr()
    # It may have failed between two requests of one look, which leaves a status unknown for that long.
    assert {line.split()[1] for line in out.splitlines()} - {"changed"} == {"came"}
    assert err.splitlines() == [
        "p2p-registry: the registry's store doesn't answer",
        "p2p-registry: the registry answers again",
    ]


async def test_model_and_rank_limit_the_list(
    server: RegistryServer, stub: RegistryStub, capsys: pytest.CaptureFixture[str]
) -> None:
    for worker_id, model_name, rank in (("a", "m", 0), ("b", "m", 1), ("c", "n", 1)):
        await publish(stub, worker_id, model_name=model_name, rank=rank)
    for wanted, expected in (({"model": "m"}, "ab"), ({"rank": 1}, "bc"), ({"model": "m", "rank": 1}, "b")):
        assert [row["worker_id"] for row in await listed(server, capsys, **wanted)] == list(expected)


async def test_an_empty_list_tells_whether_the_store_is_to_blame(
    store: Store, server: RegistryServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await listing._once(look_at(server), json_lines=True) == 0
    assert capsys.readouterr() == ("", "p2p-registry: no worker is registered that was asked for\n")
    # Before the store was pinged again.
    store.gone = True
    assert await listing._once(look_at(server), json_lines=True) == 1
    assert capsys.readouterr() == ("", "p2p-registry: the registry's store doesn't answer\n")


def row(worker_id: str, load: float | None = 0.5) -> Row:
    reference = SourceInstanceRef(worker_id=worker_id, model_name="m", updated_at=1)
    return Row(reference=reference, status=RecordStatus.READY, load=load, note="")


def test_watching_prints_who_comes_changes_and_goes_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    changes = listing._Changes(json_lines=False)
    for rows, fault in (
        ([row("a"), row("b")], None),
        ([row("a"), row("b", 0.502)], None),
        ([], "gone"),
        ([], "gone"),
        ([row("a", None)], None),
    ):
        changes.show(rows, fault)
    out, err = capsys.readouterr()
    assert [line.split()[1:] for line in out.splitlines()] == [
        ["came", "m", "0", "a", "READY", "0.50"],
        ["came", "m", "0", "b", "READY", "0.50"],
        ["changed", "m", "0", "a", "READY", "-"],
        ["gone", "m", "0", "b", "-", "-"],
    ]
    assert err.splitlines() == ["p2p-registry: gone", "p2p-registry: the registry answers again"]


def test_watching_as_json_tells_the_event_and_nothing_of_what_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    changes = listing._Changes(json_lines=True)
    changes.show([row("a")], None)
    changes.show([], None)
    came, gone = map(json.loads, capsys.readouterr().out.splitlines())
    assert (came["event"], came["status"], came["source_load"]) == ("came", "READY", 0.5)
    assert (gone["event"], gone["status"], gone["source_load"]) == ("gone", None, None)


def test_a_live_table_that_is_not_renewed_says_so_and_its_ages_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "system_clock_ms", lambda: 5_001)
    table = listing._Table()
    table.show([row("a")], None)
    monkeypatch.setattr(listing, "system_clock_ms", lambda: 65_001)
    table.show([row("a")], "UNAVAILABLE")
    _, first, second = capsys.readouterr().out.split("\x1b[H\x1b[J")
    assert first.splitlines()[0] == "1 workers"
    assert first.splitlines()[2].split()[5] == "5s"
    assert second.splitlines()[0] == "UNAVAILABLE; what it last told:"
    assert second.splitlines()[2].split()[5] == "65s"


def test_an_id_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    listing._Changes(json_lines=False).show([row("\x1b[31mred\n")], None)
    assert "\\x1b[31mred\\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environ", "address"),
    [
        ({}, "localhost:8001"),
        ({"MX_SERVER_ADDRESS": "modelexpress-server:8001"}, "modelexpress-server:8001"),
        ({"MODEL_EXPRESS_URL": "http://a:1/", "MX_SERVER_ADDRESS": "b:2"}, "a:1"),
        ({"MODEL_EXPRESS_URL": "", "MX_SERVER_ADDRESS": "b:2"}, "b:2"),
    ],
)
def test_the_registry_is_looked_for_where_modelexpress_does(environ: dict[str, str], address: str) -> None:
    assert registry_address(environ, tls=False) == address


def test_an_address_of_https_is_never_dialled_in_plaintext() -> None:
    environ = {"MODEL_EXPRESS_URL": "https://a:1"}
    with pytest.raises(SettingError, match="MODEL_EXPRESS_URL=https://a:1 needs tls_ca_file"):
        registry_address(environ, tls=False)
    assert registry_address(environ, tls=True) == "a:1"


def test_the_store_is_the_one_that_modelexpress_names() -> None:
    assert backend_url({}) == "memory"
    assert backend_url({"REDIS_URL": "redis://a", "MX_METADATA_BACKEND": ""}) == "memory"
    assert backend_url({"MX_METADATA_BACKEND": " Redis ", "REDIS_URL": "redis://a"}) == "redis://a"
    assert backend_url({"MX_METADATA_BACKEND": "redis", "REDIS_URL": ""}) == "redis://localhost:6379"
    cluster = {"MX_METADATA_BACKEND": "kubernetes", "POD_NAMESPACE": "a"}
    assert backend_url(cluster) == "kubernetes://a"
    assert backend_url(cluster | {"MX_METADATA_NAMESPACE": "b"}) == "kubernetes://b"
    kinds = {url: kind_of(url) for url in ("memory", "memory:///x", "redis://a", "rediss://a", "unix:///a")}
    assert list(kinds.values()) == ["memory", "memory", "redis", "redis", "redis"]
    with pytest.raises(SettingError, match="MX_METADATA_BACKEND=etcd is not allowed"):
        backend_url({"MX_METADATA_BACKEND": "etcd"})
    with pytest.raises(
        SettingError, match="MX_METADATA_BACKEND=kubernetes needs MX_METADATA_NAMESPACE or POD_NAMESPACE"
    ):
        backend_url({"MX_METADATA_BACKEND": "kubernetes"})


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("serve --listen :8001", 2, "--listen :8001 is not HOST:PORT, such as 127.0.0.1:8001, 0.0.0.0:8001 for"),
        ("serve --tls-cert-file /tls_key_file", 2, "--tls-cert-file /tls_key_file needs --tls-key-file: give both"),
        ("serve --listen 0.0.0.0:1 --auth-token-file t", 2, "--auth-token-file t would have tokens sent in plaintext"),
        ("serve --http-port 65536", 2, "--http-port 65536 is not a TCP port"),
        ("serve --max-requests-per-second 0", 2, "--max-requests-per-second 0 is not allowed"),
        ("serve --backend etcd://user:secret@x", 2, "'etcd' is no kind of store; memory, redis"),
        (
            "serve --listen 127.0.0.1:0 --no-http-port --auth-token-file /none",
            1,
            "--auth-token-file /none can't be used",
        ),
        ("serve --listen 203.0.113.1:1 --no-http-port", 1, "can't listen on 203.0.113.1:1: no interface of this"),
        ("serve --bogus", 2, "--bogus"),
        ("list --registry nowhere", 2, "--registry nowhere is not HOST:PORT"),
        (
            "list --registry a:1 --token-file t",
            2,
            "--token-file t would send its token in plaintext to a:1: give --tls-ca",
        ),
        ("list --registry a:1 --tls-server-name x", 2, "--tls-server-name x needs --tls-ca-file: give both"),
        (
            "serve --max-message-bytes 2147483648",
            2,
            "--max-message-bytes 2147483648 is not allowed: an integer from 1 to",
        ),
        ("list --registry a:1 --tls-ca-file /dev/null", 1, "--tls-ca-file /dev/null can't be used: it holds no PEM"),
        ("list --registry [::1]:1 --token-file /dev/null", 1, "--token-file /dev/null can't be used: one token of"),
        ("list --registry a:1 --tls-ca-file /none", 1, "--tls-ca-file /none can't be used: No such file"),
        ("list --interval-seconds 0", 2, "--interval-seconds 0.0 is not allowed: a number above 0 is"),
        ("list --timeout nan", 2, "--timeout nan is not allowed"),
        ("list --registry 127.0.0.1:1 --timeout 9", 1, "the registry at 127.0.0.1:1 can't be asked: UNAVAILABLE"),
    ],
)
def test_what_cannot_be_done_is_one_line_that_names_it(
    arguments: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments.split()) == code
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err
    assert "secret" not in err


async def test_serve_answers_probes_and_scrapers_and_ends_at_sigterm() -> None:
    async with serving("--log-format", "json", "--refuse-invalid-load", http=True) as served:
        assert (await ask(served.http, "GET /livez"))[0] == 200
        assert (await ask(served.http, "GET /readyz"))[::2] == (200, "the store answers\n")
        async with dialled(served.address) as channel:
            stub = RegistryStub(channel)
            source_id = await publish(stub, "w")
            assert (await beat(stub, source_id, "w", 0.5)).success
            assert not (await beat(stub, source_id, "w", float("nan"))).success
        status, _, body = await ask(served.http, "GET /metrics")
        assert status == 200
        assert 'p2p_registry_heartbeats_total{load="known",result="refused"} 1.0' in body
        assert 'component="server"' in body
        assert "_created" not in body
        code, logged = await served.stop()
    assert code == 0
    assert [json.loads(line)["message"] for line in logged.splitlines()] == [
        "ready: the store answers",
        "closing: calls under way may take 5 s to end",
    ]


async def test_a_call_under_way_when_the_server_stops_is_answered_and_no_other_is_taken() -> None:
    asked, answers = asyncio.Event(), asyncio.Event()

    class Slow(Store):
        async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
            if source_id is not None:
                asked.set()
                await answers.wait()
            return await super().summaries(source_id)

    server = RegistryServer(Slow(), ServerConfig(listen="127.0.0.1:0"))
    await server.__aenter__()
    async with dialled(server.address) as channel, asyncio.timeout(WAIT_SECONDS):
        call = RegistryStub(channel).ListSources(ListSourcesRequest(identity=SourceIdentity(model_name="m")))
        await asked.wait()
        probe = watch(channel)
        assert await probe.read() == SERVING
        stopping = asyncio.create_task(server.__aexit__(None, None, None))
        assert await probe.read() == NOT_SERVING
        async with dialled(server.address) as late:
            refused = RegistryStub(late).ListSources(ListSourcesRequest(), timeout=WAIT_SECONDS)
            assert await refused.code() is grpc.StatusCode.UNAVAILABLE
        assert not stopping.done()
        answers.set()
        assert await call.code() is grpc.StatusCode.OK
        await stopping


async def test_certificates_and_tokens_change_while_it_serves(tmp_path: Path) -> None:
    ours = Authority(tmp_path / "ours")
    pair = ours.issue("registry", "127.0.0.1")
    client = ours.issue("client", "client")
    tokens, token = tmp_path / "tokens", tmp_path / "token"
    tokens.write_text("first")
    token.write_text("first\n")
    # Bundles name their CAs in comments.
    bundle = tmp_path / "bundle"
    bundle.write_bytes("# Főtanúsítvány\n".encode() + ours.ca_file.read_bytes())
    files = {"--tls-cert-file": pair.cert, "--tls-key-file": pair.key, "--tls-client-ca-file": bundle}
    flags = [str(part) for pair in {**files, "--auth-token-file": tokens}.items() for part in pair]
    async with serving(*flags) as served:
        seen = RegistryFlags(
            registry=served.address,
            tls_ca_file=bundle,
            tls_cert_file=client.cert,
            tls_key_file=client.key,
            token_file=token,
        )

        async def code(flags: RegistryFlags) -> grpc.StatusCode:
            async with flags.open_channel() as channel:
                call = RegistryStub(channel).ListSources(ListSourcesRequest(), timeout=WAIT_SECONDS)
                return await call.code()

        assert await code(seen) is grpc.StatusCode.OK
        async with seen.open_channel() as before:
            await RegistryStub(before).ListSources(ListSourcesRequest())
            tokens.write_text("second")
            ours.issue("registry", "another.name")
            # The server looks once a second; until then everything is as it was.
            while await code(seen) is not grpc.StatusCode.UNAVAILABLE:
                pass
            # The connection that stood goes on, and needs the new token.
            while await RegistryStub(before).ListSources(ListSourcesRequest()).code() is grpc.StatusCode.OK:
                pass
            assert (
                await RegistryStub(before).ListSources(ListSourcesRequest()).code() is grpc.StatusCode.UNAUTHENTICATED
            )
            token.write_text("second\n")
            await RegistryStub(before).ListSources(ListSourcesRequest())
        async with dialled(served.address) as plaintext:
            assert await RegistryStub(plaintext).ListSources(ListSourcesRequest()).code() is grpc.StatusCode.UNAVAILABLE
        returncode, logged = await served.stop()
        assert returncode == 0
        # gRPC's own lines, such as that of a handshake that failed, aren't among them.
        assert {line.split(" ")[3] for line in logged.splitlines()} == {
            "p2p_registry:",
            "p2p_registry._files:",
            "p2p_registry._health:",
        }


async def test_list_watches_until_told_to_stop(server: RegistryServer, stub: RegistryStub) -> None:
    source_id = await publish(stub, "w")
    process = await asyncio.create_subprocess_exec(
        COMMAND, "list", "-w", "--json", "--registry", server.address, "--interval-seconds", "0.05",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(WAIT_SECONDS):
        assert json.loads(await process.stdout.readline())["status"] == "UNKNOWN"
        await beat(stub, source_id, "w", 0.5)
        changed = json.loads(await process.stdout.readline())
        assert (changed["event"], changed["status"], changed["source_load"]) == ("changed", "READY", 0.5)
        process.terminate()
        rest, err = await process.communicate()
    assert (process.returncode, rest, err) == (0, b"", b"")


def test_without_its_extra_serve_does_without_metrics_and_says_so() -> None:
    program = (
        "import sys; sys.modules['prometheus_client'] = None\n"
        "from p2p_registry._health import Health\n"
        "from p2p_registry.cli.serve import _make_metrics, _pages\n"
        "from p2p_registry import MemoryBackend\n"
        "metrics = _make_metrics('memory')\n"
        "print(metrics, *_pages(Health(MemoryBackend()), metrics)['/metrics']())"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "None 501 b\"pip install 'p2p-registry[prometheus]'\\n\"\n"
    assert "/metrics has nothing to show: pip install 'p2p-registry[prometheus]'" in ended.stderr
