"""Runs the checks of some clauses against one Worker, one after the other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import grpc
import grpc.aio

from loadmonitor_router._handshake import explain_failure
from loadmonitor_router._stream import StreamLostError
from loadmonitor_router.config import normalize_address
from loadmonitor_router.conformance import acknowledging, changing, ending, lease, opening, reporting, state
from loadmonitor_router.conformance.dialling import Dialling, read_dialling
from loadmonitor_router.conformance.results import Check, ClauseResult, Deviation, Outcome, Verdict
from loadmonitor_router.conformance.trial import Acquaintance, Trial, extensions_told
from loadmonitor_router.credentials import PLAINTEXT, Credentials
from loadmonitor_router.errors import ConfigError, NoReporterError

CHECKS: tuple[Check, ...] = (
    opening.first_frame,
    opening.register_values,
    opening.acknowledged_once,
    opening.acknowledgement,
    opening.limits,
    opening.exhaustion,
    opening.replacement,
    changing.new_terms,
    changing.bad_changes,
    changing.deadlines,
    lease.renewal,
    lease.expiry,
    lease.no_report_for_keep_alive,
    lease.stopping,
    reporting.shared,
    reporting.numbering,
    reporting.status,
    reporting.staleness,
    reporting.age,
    reporting.latest_wins,
    reporting.unknown,
    reporting.believed,
    state.told,
    state.changed,
    state.obeyed,
    state.drained,
    acknowledging.window,
    acknowledging.skipped_deadline,
    acknowledging.unsent,
    ending.after_an_error,
    ending.shutting_down,
    ending.unknown_codes,
    ending.no_frames,
)
"""The check of every clause, in the order of the contract."""


async def check_worker(
    address: str,
    clauses: Sequence[str] = (),
    *,
    timeout_seconds: float = 5.0,
    shut_down: Callable[[], Awaitable[None]] | None = None,
    credentials: Credentials = PLAINTEXT,
    progress: Callable[[str, int, int], None] | None = None,
) -> AsyncIterator[ClauseResult]:
    """Judge a Worker clause by clause; a result comes as soon as there is one.

    Up to 33 streams are open at once, under ids of their own, and a few thousand frames are sent: a Worker that serves routers
    should not be asked; one that serves fewer than three can't be. The whole takes about 15 s, and longer where what must come doesn't.

    Args:
        address: Where the Worker listens, `host:port` or `[ipv6]:port`.
        clauses: Ids of the clauses to judge; all when there are none.
        timeout_seconds: How long to wait for each frame that must come; above 0.
        shut_down: Makes the Worker shut down; without it END-2 can't be tested, with it that comes last.
        credentials: How this side and the Worker know each other; the files are read once.
        progress: Called with the clause whose turn it is, which one of them it is, from 1, and how many there are.

    Raises:
        ConfigError: The address isn't one, there is no such clause, or a token would be sent in plaintext to another machine.
        CredentialFileError: A file of the credentials can't be used.
        NoReporterError: Nothing answers, or what does has no load reporter.
    """
    chosen = _chosen(clauses)
    target = normalize_address(address)
    credentials.check_address(target)
    dialling = read_dialling(target, credentials)
    known = await _acquaint(dialling, credentials, timeout_seconds)
    for number, item in enumerate(chosen, 1):
        if progress is not None:
            progress(item.clause, number, len(chosen))
        yield await _judge(item, Trial(dialling, timeout_seconds, known, shut_down))


def _chosen(clauses: Sequence[str]) -> list[Check]:
    known = {item.clause: item for item in CHECKS}
    for clause in clauses:
        if clause not in known:
            raise ConfigError(f"clause {clause!r} is not in the contract: allowed are {', '.join(known)}")
    chosen = [item for item in CHECKS if not clauses or item.clause in clauses]
    return sorted(chosen, key=lambda item: item is ending.shutting_down)


async def _acquaint(dialling: Dialling, credentials: Credentials, timeout_seconds: float) -> Acquaintance:
    await _dial(dialling, credentials, timeout_seconds)
    async with Trial(dialling, timeout_seconds, Acquaintance()) as trial:
        try:
            session = await trial.registered()
        except Deviation as deviation:
            if "UNIMPLEMENTED" in str(deviation):
                raise NoReporterError(f"{dialling.address} is a gRPC server without a load reporter") from None
            return Acquaintance(problem=str(deviation))
        response = session.response
    least_ms = max(1, response.min_report_interval_ms)
    return Acquaintance(told=extensions_told(response), min_interval_ms=least_ms)


async def _dial(dialling: Dialling, credentials: Credentials, timeout_seconds: float) -> None:
    async with dialling.channel() as channel:
        try:
            async with asyncio.timeout(timeout_seconds):
                await channel.channel_ready()
        except TimeoutError:
            words = await _why_not_connected(channel)
            loss = await explain_failure(StreamLostError(words), dialling.address, credentials)
            cause = f": {loss}" if words else ""
            raise NoReporterError(f"{dialling.address}: no connection within {timeout_seconds:g} s{cause}") from None


async def _why_not_connected(channel: grpc.aio.Channel) -> str:
    """Return how the last attempt to connect ended; nothing where none has ended."""
    if channel.get_state() is not grpc.ChannelConnectivity.TRANSIENT_FAILURE:
        return ""
    # Fails with what is known: such a channel lets nothing through.
    ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/")
    try:
        await ask(b"", timeout=1)
    except grpc.aio.AioRpcError as error:
        return f"{error.details()}"
    return ""


async def _judge(item: Check, trial: Trial) -> ClauseResult:
    outcome, received = Outcome.PASSED, ""
    if item.needs_registration and trial.known.problem is not None:
        outcome, received = Outcome.NOT_TESTABLE, f"no valid register is acknowledged: {trial.known.problem}"
    elif item.is_extension and not trial.known.is_extended:
        outcome = Outcome.NOT_OFFERED
        received = "the acknowledgement has none of the optional fields: a Worker of the contract's first version"
    else:
        try:
            async with trial:
                received = await item.run(trial)
        except Verdict as verdict:
            outcome, received = verdict.outcome, str(verdict)
    return ClauseResult(item.clause, outcome, item.expects, received)
