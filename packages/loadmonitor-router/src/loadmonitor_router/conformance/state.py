"""The clauses STATE: what a Worker tells of its engine's state."""

from loadmonitor_proto import WorkerState
from loadmonitor_router.conformance.results import Deviation, NotOffered, NotTestable, check
from loadmonitor_router.conformance.trial import Trial


@check("STATE-1", expects="worker_state in every report, once the Worker was told", is_extension=True)
async def told(trial: Trial) -> str:
    """Takes five reports; a Worker that tells the state in none wasn't told, or doesn't offer it."""
    last: WorkerState.ValueType | None = None
    for report in await trial.sample():
        if report.HasField("worker_state"):
            last = report.worker_state
        elif last is not None:
            raise Deviation(f"no worker_state in report {report.sequence_id}, after {_name(last)}")
    if last is None:
        raise NotOffered("no worker_state in five reports")
    return f"{_name(last)} to the last of five reports"


@check("STATE-2", expects="one report at once for every session when the state changes", is_extension=True)
async def changed(trial: Trial) -> str:  # noqa: ARG001 - a check like the others
    """Isn't tested: a Router can't change the state of an engine."""
    raise NotTestable("a Router can't change the state of an engine")


@check("STATE-3", expects="a Router that sends nothing new to an engine that takes no requests", is_extension=True)
async def obeyed(trial: Trial) -> str:  # noqa: ARG001 - a check like the others
    """Isn't tested: it is about Routers."""
    raise NotTestable("this clause is about Routers")


@check("STATE-4", expects="DRAINING, and the end when all were told and the engine is idle", is_extension=True)
async def drained(trial: Trial) -> str:  # noqa: ARG001 - a check like the others
    """Isn't tested: a Router can't make a Worker drain."""
    raise NotTestable("a Router can't make a Worker drain")


def _name(state: WorkerState.ValueType) -> str:
    """Return the state's name, or the number of one that this version doesn't know."""
    names = {value: name.removeprefix("WORKER_STATE_") for name, value in WorkerState.items()}
    return names.get(state, str(state))
