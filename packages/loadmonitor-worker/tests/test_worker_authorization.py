"""Who may register which router_id: decisions, and that a refused router takes nothing from anybody."""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from certificates import Authority, Pair
from worker_bench import Router, StartBench, register

from loadmonitor_proto import StreamErrorCode
from loadmonitor_proto.service import LoadMonitorStub
from loadmonitor_worker import (
    AllowAll,
    Authorizer,
    BearerTokenAuthorizer,
    CallMetadata,
    CertificateAuthorizer,
    ConfigError,
    CredentialFileError,
    PeerIdentity,
    ReporterConfig,
    start_load_reporter,
)
from loadmonitor_worker.testing import FakeSource, ManualClock

NOBODY = PeerIdentity("ipv4:127.0.0.1:5")
NOTHING = CallMetadata(())
ALLOWED = "s3cr3t-0f-0ne"
STRANGE = "an0ther-0ne"


def bearer(*tokens: str) -> CallMetadata:
    return CallMetadata(("authorization", f"Bearer {token}") for token in tokens)


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "tokens"
    file.write_text(f"{ALLOWED}\n")
    return file


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "ours")


def test_by_default_everybody_may_register_any_id() -> None:
    assert AllowAll().refusal(NOBODY, "r", NOTHING) is None


@pytest.mark.parametrize(
    ("names", "router_id", "allowed"),
    [
        ({"router-a"}, "a", True),
        ({"router-a"}, "b", False),
        ({"router-a"}, "A", False),
        ({"router-b", "spiffe://cluster/ops"}, "watch-7", True),
        ({"spiffe://cluster/ops"}, "watch", False),
        ({"router"}, "a", False),
        ({"*"}, "a", False),
    ],
)
def test_a_certificate_registers_the_ids_of_its_names(names: set[str], router_id: str, allowed: bool) -> None:
    authorizer = CertificateAuthorizer({"router-a": ["a"], "spiffe://cluster/ops": ["watch-*"]})
    refusal = authorizer.refusal(PeerIdentity("ipv4:127.0.0.1:5", frozenset(names)), router_id, NOTHING)
    assert (refusal is None) is allowed
    assert allowed or repr(router_id) in (refusal or "")


def test_without_a_certificate_no_id_may_be_registered() -> None:
    refusal = CertificateAuthorizer({"router-a": ["*"]}).refusal(NOBODY, "a", NOTHING)
    assert refusal is not None
    assert "certificate" in refusal


@pytest.mark.parametrize("router_ids", [{"": ["a"]}, {"router-a": []}, {"router-a": [""]}])
def test_a_name_without_ids_is_refused(router_ids: dict[str, list[str]]) -> None:
    with pytest.raises(ConfigError, match="at least one id"):
        CertificateAuthorizer(router_ids)


@pytest.mark.parametrize(
    "metadata",
    [
        NOTHING,
        bearer(""),
        bearer(ALLOWED[:-1]),
        bearer(f"{ALLOWED}x"),
        bearer(ALLOWED.upper()),
        bearer(ALLOWED, ALLOWED),
        bearer(STRANGE, ALLOWED),
        CallMetadata([("authorization", ALLOWED)]),
        CallMetadata([("authorization", f"Basic {ALLOWED}")]),
        CallMetadata([("authorization", f"Bearer {ALLOWED}".encode())]),
        CallMetadata([("x-authorization", f"Bearer {ALLOWED}")]),
    ],
)
def test_only_one_whole_token_of_the_file_lets_a_router_in(token_file: Path, metadata: CallMetadata) -> None:
    authorizer = BearerTokenAuthorizer(token_file)
    refusal = authorizer.refusal(NOBODY, "r", metadata)
    assert refusal is not None
    assert "--token-file" in refusal
    assert ALLOWED not in refusal
    assert authorizer.refusal(NOBODY, "r", bearer(ALLOWED)) is None


def test_a_token_is_compared_in_constant_time_with_every_one_of_the_file(
    token_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    compare = hmac.compare_digest

    def counting(one: Any, other: Any) -> bool:
        lengths.append(len(one))
        return compare(one, other)

    token_file.write_text(f"{ALLOWED}\n{STRANGE}\nlast\n")
    authorizer = BearerTokenAuthorizer(token_file)
    monkeypatch.setattr(hmac, "compare_digest", counting)
    for token in (ALLOWED, STRANGE, "last", "none", "x" * 5_000):
        authorizer.refusal(NOBODY, "r", bearer(token))
    assert lengths == [32] * 15


def test_tokens_are_exchanged_without_a_moment_in_which_both_fail(token_file: Path) -> None:
    authorizer = BearerTokenAuthorizer(token_file)
    assert authorizer.refusal(NOBODY, "r", bearer(STRANGE)) is not None
    token_file.write_text(f"{ALLOWED}\n\n  {STRANGE}\r\n")
    assert authorizer.refusal(NOBODY, "r", bearer(ALLOWED)) is None
    assert authorizer.refusal(NOBODY, "r", bearer(STRANGE)) is None
    token_file.write_text(STRANGE)
    assert authorizer.refusal(NOBODY, "r", bearer(ALLOWED)) is not None
    assert authorizer.refusal(NOBODY, "r", bearer(STRANGE)) is None


@pytest.mark.parametrize("content", [None, b"", b" \n\n", b"two words\n", b"\xff\n", b"x" * 65_537])
def test_a_token_file_that_breaks_leaves_the_tokens_and_is_told_once(
    token_file: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    caplog.set_level(logging.DEBUG, "loadmonitor_worker")
    authorizer = BearerTokenAuthorizer(token_file)
    if content is None:
        token_file.unlink()
    else:
        token_file.write_bytes(content)
    for _ in range(3):
        assert authorizer.refusal(NOBODY, "r", bearer(ALLOWED)) is None
        assert authorizer.refusal(NOBODY, "r", bearer(STRANGE)) is not None
    (record,) = caplog.records
    assert str(token_file) in record.getMessage()
    with pytest.raises(CredentialFileError, match="auth_token_file="):
        BearerTokenAuthorizer(token_file)
    token_file.write_text(ALLOWED)
    assert authorizer.refusal(NOBODY, "r", bearer(ALLOWED)) is None
    assert caplog.records[-1].getMessage() == f"{token_file} can be read again"


# At a reporter


class Dialler:
    """Opens streams to a reporter as a router with credentials does."""

    def __init__(self, address: str, ca: Authority | None) -> None:
        self._address = address
        self._ca = ca
        self._channels: list[grpc.aio.Channel] = []
        self._routers: list[Router] = []  # a call that nobody holds is cancelled

    def dial(self, *, client: Pair | None = None, token: str | None = None) -> Router:
        options = [("grpc.use_local_subchannel_pool", 1)]
        if self._ca is None:
            channel = grpc.aio.insecure_channel(self._address, options=options)
        else:
            key, cert = (None, None) if client is None else (client.key.read_bytes(), client.cert.read_bytes())
            credentials = grpc.ssl_channel_credentials(self._ca.ca_file.read_bytes(), key, cert)
            channel = grpc.aio.secure_channel(self._address, credentials, options=options)
        self._channels.append(channel)
        metadata = None if token is None else (("authorization", f"Bearer {token}"),)
        router = Router(LoadMonitorStub(channel).Monitor(metadata=metadata))
        self._routers.append(router)
        return router

    async def close(self) -> None:
        await asyncio.gather(*(channel.close() for channel in self._channels))


def mutual_tls(ours: Authority) -> dict[str, Path]:
    pair = ours.issue("worker")
    return {"tls_cert_file": pair.cert, "tls_key_file": pair.key, "tls_client_ca_file": ours.ca_file}


def exchange(file: Path, content: str) -> None:
    file.write_text(content)


async def refused(router: Router, router_id: str) -> str:
    await router.send(register(router_id))
    error = await router.ended()
    assert error is not None
    assert error.code == StreamErrorCode.PERMISSION_DENIED
    return error.message


@pytest.fixture
async def diallers() -> AsyncIterator[list[Dialler]]:
    made: list[Dialler] = []
    yield made
    for dialler in made:
        await dialler.close()


@pytest.mark.clause("OPEN-7")
async def test_a_refused_router_cannot_evict_the_session_of_another(
    start: StartBench, ours: Authority, diallers: list[Dialler]
) -> None:
    bench = await start(
        **mutual_tls(ours),
        allow_router=("router-a=a", "router-b=b", "router-b=b-*"),
    )
    diallers.append(dialler := Dialler(bench.reporter.address, ours))
    holder = dialler.dial(client=ours.issue("a", "router-a"))
    await holder.register("a")
    await holder.report()
    rival = ours.issue("b", "router-b")
    assert "'a' doesn't belong to the certificate of router-b" in await refused(dialler.dial(client=rival), "a")
    await dialler.dial(client=rival).register("b-2")
    await bench.clock.advance(1_000)
    await holder.report()
    assert bench.reporter.measure().refused["PERMISSION_DENIED"] == 1
    assert bench.reporter.measure().session_events["replaced"] == 0


async def test_a_refused_router_takes_no_place_and_a_full_worker_still_says_why(
    start: StartBench, token_file: Path, diallers: list[Dialler]
) -> None:
    bench = await start(auth_token_file=token_file, max_sessions=1)
    diallers.append(dialler := Dialler(bench.reporter.address, None))
    await refused(dialler.dial(), "r")
    await dialler.dial(token=ALLOWED).register("r")
    assert "bearer token" in await refused(dialler.dial(token=STRANGE), "r")
    assert bench.reporter.measure().sessions == 1


async def test_a_session_goes_on_when_its_token_is_taken_out_of_the_file(
    start: StartBench, token_file: Path, diallers: list[Dialler]
) -> None:
    bench = await start(auth_token_file=token_file)
    diallers.append(dialler := Dialler(bench.reporter.address, None))
    router = dialler.dial(token=ALLOWED)
    await router.register("r")
    exchange(token_file, STRANGE)
    await router.send(register("r"))
    await refused(dialler.dial(token=ALLOWED), "r")
    await bench.clock.advance(1_000)
    await router.report()


async def test_a_token_says_that_somebody_is_a_router_and_not_which(
    start: StartBench, token_file: Path, diallers: list[Dialler]
) -> None:
    bench = await start(auth_token_file=token_file)
    diallers.append(dialler := Dialler(bench.reporter.address, None))
    for router_id in ("a", "b", "a"):
        await dialler.dial(token=ALLOWED).register(router_id)
    assert bench.reporter.measure().session_events["replaced"] == 1


async def test_a_certificate_alone_says_that_somebody_is_a_router_and_not_which(
    start: StartBench, ours: Authority, diallers: list[Dialler]
) -> None:
    bench = await start(**mutual_tls(ours))
    diallers.append(dialler := Dialler(bench.reporter.address, ours))
    for name in ("router-a", "router-b"):
        await dialler.dial(client=ours.issue(name, name)).register("a")
    assert bench.reporter.measure().session_events["replaced"] == 1


async def test_a_router_needs_both_its_certificate_and_a_token_where_both_are_asked_for(
    start: StartBench, ours: Authority, token_file: Path, diallers: list[Dialler]
) -> None:
    bench = await start(
        **mutual_tls(ours),
        allow_router=("router-a=a",),
        auth_token_file=token_file,
    )
    diallers.append(dialler := Dialler(bench.reporter.address, ours))
    client = ours.issue("a", "router-a")
    await refused(dialler.dial(client=client), "a")
    await refused(dialler.dial(client=client, token=ALLOWED), "b")
    await dialler.dial(client=client, token=ALLOWED).register("a")


class Own:
    """An authorizer of a program's own."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[PeerIdentity, str, CallMetadata]] = []

    def refusal(self, peer: PeerIdentity, router_id: str, metadata: CallMetadata) -> str | None:
        self.asked.append((peer, router_id, metadata))
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: str | None = self.answer
        return answer


async def ask(authorizer: Authorizer, diallers: list[Dialler]) -> Router:
    """Start a reporter with this authorizer, and dial it."""
    clock = ManualClock()
    reporter = await start_load_reporter(ReporterConfig(port=0), FakeSource(clock), clock=clock, authorizer=authorizer)
    assert reporter is not None
    dialler = Dialler(reporter.address, None)
    diallers.append(dialler)
    closing = dialler.close

    async def close() -> None:
        await closing()
        await reporter.close()

    dialler.close = close  # type: ignore[method-assign] # the reporter goes with its router
    return dialler.dial(token=ALLOWED)


async def test_an_authorizer_of_ones_own_is_told_the_peer_the_id_and_the_metadata(diallers: list[Dialler]) -> None:
    own = Own(None)
    await (await ask(own, diallers)).register("r")
    ((peer, router_id, metadata),) = own.asked
    assert peer.address.startswith("ipv4:127.0.0.1:")
    assert peer.names == frozenset()
    assert router_id == "r"
    assert metadata["authorization"] == (f"Bearer {ALLOWED}",)


async def test_whoever_is_refused_forges_no_line_of_the_log(
    diallers: list[Dialler], caplog: pytest.LogCaptureFixture
) -> None:
    own = Own(None)
    router = await ask(own, diallers)
    own.answer = "you\nare \x1b[2J" + "x" * 5_000
    assert await refused(router, "r\nINFO forged\x1b[2J") == "you\\nare \\x1b[2J" + "x" * 988
    assert "refused, PERMISSION_DENIED" in caplog.text
    assert "\nINFO" not in caplog.text
    assert "\x1b" not in caplog.text


@pytest.mark.parametrize("answer", ["not you", "", 0, False, RuntimeError(ALLOWED)])
async def test_whatever_but_none_refuses(
    diallers: list[Dialler], caplog: pytest.LogCaptureFixture, answer: Any
) -> None:
    caplog.set_level(logging.DEBUG, "loadmonitor_worker")
    message = await refused(await ask(Own(answer), diallers), "r")
    expected = {"not you": "not you"} if isinstance(answer, str) else {}
    failed = isinstance(answer, Exception)
    default = "this worker's authorizer failed: its log says how" if failed else "no reason given"
    assert message == expected.get(answer, default)
    assert ALLOWED not in caplog.text
    assert ("failed with RuntimeError at test_worker_authorization.py:" in caplog.text) is failed


async def test_no_token_shows_in_logs_reprs_or_errors(
    start: StartBench, token_file: Path, diallers: list[Dialler], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bench = await start(auth_token_file=token_file)
    diallers.append(dialler := Dialler(bench.reporter.address, None))
    await dialler.dial(token=ALLOWED).register("r")
    told = await refused(dialler.dial(token=STRANGE), "r")
    exchange(token_file, f"{ALLOWED} {STRANGE}")
    with pytest.raises(CredentialFileError) as caught:
        BearerTokenAuthorizer(token_file)
    authorizers = bench.reporter._server._servicer._authorizers
    seen = f"{caplog.text} {told} {caught.value!r} {bearer(ALLOWED)!r} {bench.reporter._server._config!r}"
    seen += f"{[vars(authorizer) for authorizer in authorizers]}"
    assert "PERMISSION_DENIED" in seen
    assert ALLOWED not in seen
    assert STRANGE not in seen


async def test_a_registered_session_keeps_no_token(
    start: StartBench, token_file: Path, diallers: list[Dialler]
) -> None:
    bench = await start(auth_token_file=token_file)
    diallers.append(dialler := Dialler(bench.reporter.address, None))
    await dialler.dial(token=ALLOWED).register("r")
    session = bench.reporter._server._monitor._table.holder("r")
    assert session is not None
    assert session.refusal is None
