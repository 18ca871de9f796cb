"""`loadmonitor conformance` as a process, against Workers of this one."""

import asyncio
import json
import os
import pty
import signal
import socket
import sysconfig
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from broken_workers import FAULTS
from certificates import Authority
from model_worker import Context, ModelWorker

from loadmonitor_proto import RouterFrame
from loadmonitor_router.cli._conformance import _Turn
from loadmonitor_router.testing import ScriptedWorker

COMMAND = str(Path(sysconfig.get_path("scripts")) / "loadmonitor")
WAIT_SECONDS = 40


class GuardedWorker(ModelWorker):
    """Asks for a certificate of the CA, and for a token."""

    def __init__(self, authority: Authority, token: str) -> None:
        super().__init__()
        pair, ca = authority.issue("worker"), authority.ca_file.read_bytes()
        chain = (pair.key.read_bytes(), pair.cert.read_bytes())
        self.credentials = grpc.ssl_server_credentials([chain], ca, require_client_auth=True)
        self.token = token

    async def Monitor(self, request_iterator: AsyncIterator[RouterFrame], context: Context) -> None:  # noqa: N802
        if ("authorization", f"Bearer {self.token}") not in (context.invocation_metadata() or ()):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a token is needed")
        await super().Monitor(request_iterator, context)


async def run(*arguments: str) -> tuple[int | None, list[str], str]:
    process = await asyncio.create_subprocess_exec(COMMAND, "conformance", *arguments, stdout=PIPE, stderr=PIPE)
    async with asyncio.timeout(WAIT_SECONDS):
        out, err = await process.communicate()
    return process.returncode, out.decode().splitlines(), err.decode()


async def test_a_worker_without_fault_is_shown_line_by_line_and_exits_0() -> None:
    async with ModelWorker() as worker:
        code, lines, err = await run(
            worker.address, "--clause", "END-3", "--clause", "OPEN-1", "--frame-timeout-seconds", "20"
        )
    assert lines == [
        "OPEN-1    passed                  INVALID_FIRST_FRAME for keep_alive, update_config and stop",
        "END-3     not testable from here  this clause is about Routers",
        "1 passed, 1 not testable from here",
    ]
    assert (code, err) == (0, "")


async def test_a_fault_says_what_was_expected_and_what_was_received_and_exits_1() -> None:
    fault = next(fault for fault in FAULTS if fault.clause == "OPEN-1")
    async with fault.make() as worker:
        code, lines, _ = await run(worker.address, "--clause", "OPEN-1", "--frame-timeout-seconds", "20")
    assert lines[0] == (
        "OPEN-1    failed                  expected the error INVALID_FIRST_FRAME for any other first frame than register; "
        "received the error INVALID_ARGUMENT (a model's word) after keep_alive as the first frame, not INVALID_FIRST_FRAME"
    )
    assert (code, lines[1]) == (1, "1 failed")


async def test_json_is_one_object_a_line_and_the_timeout_is_obeyed() -> None:
    fault = next(fault for fault in FAULTS if fault.clause == "ACK-3")
    async with fault.make() as worker:
        code, lines, _ = await run(worker.address, "--clause", "ACK-3", "--frame-timeout-seconds", "1.5", "--json")
        (line,) = map(json.loads, lines)
        assert line.pop("received").startswith("nothing within 1.5 s after an acknowledgement of ")
        assert line == {
            "schema": "loadmonitor.conformance/1",
            "worker": worker.address,
            "clause": "ACK-3",
            "outcome": "failed",
            "expected": "the error INVALID_ARGUMENT for an acknowledgement of what was not sent",
        }
    assert code == 1


async def test_a_command_that_makes_the_worker_shut_down_makes_the_last_clause_testable() -> None:
    async with ModelWorker() as worker:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, lambda: asyncio.ensure_future(worker.shut_down()))
        order = ("--shut-down", f"kill -USR1 {os.getpid()}")
        code, lines, _ = await run(worker.address, "--clause", "END-2", "--frame-timeout-seconds", "20", *order)
        asyncio.get_running_loop().remove_signal_handler(signal.SIGUSR1)
    assert lines == ["END-2     passed                  SHUTTING_DOWN for both sessions", "1 passed"]
    assert code == 0


async def test_an_unknown_clause_is_a_usage_error() -> None:
    code, lines, err = await run("127.0.0.1:1", "--clause", "OPEN-0")
    assert (code, lines) == (2, [])
    assert err.startswith("loadmonitor: clause 'OPEN-0' is not in the contract: allowed are OPEN-1, OPEN-2, ")


async def test_an_address_where_nobody_listens_is_one_line_on_stderr_and_exits_1() -> None:
    async with ScriptedWorker() as gone:
        address = gone.address
    code, lines, err = await run(address, "--frame-timeout-seconds", "0.5")
    assert (code, lines) == (1, [])
    assert err.startswith(f"loadmonitor: {address}: no connection within 0.5 s: ")
    assert err.endswith("Connection refused\n")


async def test_a_port_that_accepts_and_says_nothing_is_told_apart_from_a_closed_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        _, _, err = await run(f"{host}:{port}", "--frame-timeout-seconds", "0.5")
    assert err == f"loadmonitor: {host}:{port}: no connection within 0.5 s\n"


async def test_an_interrupt_ends_with_130_and_without_a_traceback() -> None:
    async with ModelWorker() as worker:
        process = await asyncio.create_subprocess_exec(COMMAND, "conformance", worker.address, stdout=PIPE, stderr=PIPE)
        assert process.stdout is not None
        async with asyncio.timeout(WAIT_SECONDS):
            await process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, err = await process.communicate()
    assert (process.returncode, err) == (130, b"")


async def test_on_a_terminal_long_words_are_folded_below_each_other() -> None:
    async with ModelWorker() as worker:
        ours, theirs = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            COMMAND, "conformance", worker.address, "--clause", "OPEN-4", "--frame-timeout-seconds", "20",
            stdout=theirs, env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
        )  # fmt: skip
        os.close(theirs)
        async with asyncio.timeout(WAIT_SECONDS):
            assert await process.wait() == 0
        shown = os.read(ours, 10_000).decode()
        os.close(ours)
    lines = shown.splitlines()
    assert lines[0].startswith("OPEN-4    \x1b[32mpassed ")
    assert lines[1].startswith(" " * 34)
    assert lines[-1] == "1 passed"


async def test_a_worker_that_asks_for_a_certificate_and_a_token_is_judged_when_given_both(tmp_path: Path) -> None:
    authority, token_file = Authority(tmp_path / "ca"), tmp_path / "token"
    token_file.write_text("of-this-test\n")
    ours = authority.issue("ours", "router.example")
    ca = ("--tls-ca-file", str(authority.ca_file))
    certified = (*ca, "--tls-cert-file", str(ours.cert), "--tls-key-file", str(ours.key))
    async with GuardedWorker(authority, "of-this-test") as worker:
        chosen = (worker.address, "--clause", "OPEN-3", "--frame-timeout-seconds")
        given = await run(*chosen, "20", *certified, "--token-file", str(token_file))
        tokenless = await run(*chosen, "20", *certified)
        _, _, uncertified = await run(*chosen, "2", *ca)
        _, _, plain = await run(*chosen, "2")
    assert given == (
        0,
        ["OPEN-3    passed                  registered, then reports only", "1 passed"],
        "",
    )
    assert "UNAUTHENTICATED" in tokenless[1][0]
    assert "asks for a certificate: give this router's as --tls-cert-file and --tls-key-file" in uncertified
    assert "TLS: the Worker speaks TLS: give its CA as --tls-ca-file" in plain


async def test_credentials_that_cannot_be_used_are_a_usage_error(tmp_path: Path) -> None:
    code, lines, err = await run("127.0.0.1:1", "--tls-ca-file", str(tmp_path / "ca.pem"))
    assert (code, lines) == (2, [])
    assert err == f"loadmonitor: --tls-ca-file={tmp_path}/ca.pem can't be used: No such file or directory\n"
    token = tmp_path / "token"
    token.write_text("of-this-test")
    code, lines, err = await run("192.0.2.1:1", "--token-file", str(token))
    assert (code, lines) == (2, [])
    assert "would send its token in plaintext to 192.0.2.1:1" in err
    assert "of-this-test" not in err


async def test_what_takes_longer_than_the_whole_may_take_is_ended_and_says_whose_turn_it_was() -> None:
    async with ScriptedWorker() as worker:  # which answers nothing
        code, lines, err = await run(worker.address, "--frame-timeout-seconds", "2000", "--timeout", "3")
    assert (code, lines) == (1, [])
    assert f"{worker.address}: not done within 3 s, before the first clause: give --timeout more seconds" in err


def test_a_terminal_is_told_whose_turn_it_is_and_a_file_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    for on_terminal, shown in ((True, "judging OPEN-2, 2 of 33\r\x1b[K"), (False, "")):
        turn = _Turn(on_terminal=on_terminal)
        turn.comes("OPEN-2", 2, 33)
        turn.ends()
        assert capsys.readouterr().err == shown
        assert turn.place == "at OPEN-2, 2 of 33"
