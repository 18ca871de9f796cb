"""Handles and errors cross process boundaries whole, and messages say what is known."""

import pickle

import pytest
from lifecycle_bench import ROUTER, SPEC, URL, UUID, Bench
from pydantic import SecretStr, ValidationError

import router_lifecycle
from router_lifecycle import (
    InvalidRouterURLError,
    JobStatus,
    Observation,
    OperationError,
    OperationTimeout,
    Phase,
    RegistrationHandle,
    RemovalHandle,
    RouterLifecycleClient,
    RouterLifecycleError,
    SubmissionRejected,
    WorkerSpec,
    normalize_router_url,
)

PUBLIC = [getattr(router_lifecycle, name) for name in router_lifecycle.__all__]
ERRORS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, OperationError)]
assert ERRORS


def handle() -> RegistrationHandle:
    return RegistrationHandle(
        router=ROUTER + "/",
        spec=SPEC,
        phase=Phase.ACCEPTED,
        dialect="uuid",
        worker_id=UUID,
        listed_before=False,
        job_before=JobStatus(job_type="AddWorker", status="failed", message="old", timestamp=1.0),
        submitted_at_unix_seconds=1_700_000_000.0,
        last_observation=Observation(seen_at_unix_seconds=1.0, rows=()),
    )


def test_a_handle_survives_json_and_pickle_whole() -> None:
    held = handle()
    assert RegistrationHandle.model_validate_json(held.model_dump_json()) == held
    assert pickle.loads(pickle.dumps(held)) == held  # noqa: S301
    assert held.router == ROUTER


def test_a_dump_of_a_handle_holds_no_key() -> None:
    held = RegistrationHandle(router=ROUTER, spec=WorkerSpec(url=URL, api_key=SecretStr("s3cret")))
    assert "s3cret" not in held.model_dump_json() + repr(held)


def test_a_handle_takes_no_phase_that_is_none() -> None:
    held = handle()
    with pytest.raises(ValidationError):
        held.phase = "nearly"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("phase", "pending"),
    [
        (Phase.NEW, False),
        (Phase.SUBMISSION_UNKNOWN, True),
        (Phase.ACCEPTED, True),
        (Phase.REMOVING, True),
        (Phase.UNRESOLVED, True),
        (Phase.REMOVED, False),
    ],
)
def test_a_handle_may_be_pending_until_its_outcome_is_known(phase: Phase, pending: bool) -> None:
    held = handle()
    held.phase = phase
    assert held.may_be_pending is pending
    assert held.to_removal().may_be_pending is pending
    held.outcome_known = True
    assert not held.may_be_pending


def test_what_was_listed_after_the_submission_only_is_not_pending_any_more() -> None:
    held = handle()
    held.row_seen = True
    assert not held.to_removal().may_be_pending
    held.listed_before = True
    assert held.to_removal().may_be_pending


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_survives_a_process_boundary_with_all_it_carries(kind: type[OperationError]) -> None:
    error = kind(
        "it went wrong",
        phase="activation",
        router=ROUTER,
        worker_url=URL,
        worker_id=UUID,
        observation=Observation(seen_at_unix_seconds=1.0, rows=()),
        handle=handle(),
        safe_to_resubmit=True,
    )
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    for part in (f"worker {URL}", UUID, ROUTER, "activation", "it went wrong", "last look: no answer about it"):
        assert part in str(error)
    assert isinstance(error, RouterLifecycleError)


def test_the_tree_lets_a_caller_catch_by_what_to_do_next() -> None:
    assert issubclass(router_lifecycle.AlreadyRegistered, SubmissionRejected)
    assert issubclass(router_lifecycle.CreateInProgress, SubmissionRejected)
    assert issubclass(OperationTimeout, TimeoutError)


def test_advice_about_a_handle_is_left_out_where_there_is_none() -> None:
    assert "handle" not in str(OperationTimeout("slow", phase="listing", router=ROUTER))
    assert "wait again with the handle" in str(
        OperationTimeout("slow", phase="activation", router=ROUTER, worker_url=URL, handle=handle())
    )


def test_a_removal_handle_survives_json_and_pickle_whole() -> None:
    held = RemovalHandle(router=ROUTER, url=URL, deletes=1, answer="accepted", may_be_pending=True)
    assert RemovalHandle.model_validate_json(held.model_dump_json()) == held
    assert pickle.loads(pickle.dumps(held)) == held  # noqa: S301


async def test_a_handle_of_another_router_is_refused_before_any_request() -> None:
    bench = Bench()
    other = RegistrationHandle(router="http://elsewhere:1", spec=SPEC)
    with pytest.raises(ValueError, match="belongs to router http://elsewhere:1"):
        await bench.client().submit(other)
    assert bench.router.requests == []


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://router:30000", "http://router:30000"),
        ("HTTP://Router:30000/", "http://router:30000"),
        ("https://gateway/Team-A/", "https://gateway/Team-A"),
        ("http://[::1]:30000", "http://[::1]:30000"),
    ],
)
def test_equal_routers_are_spelt_equally(url: str, normal: str) -> None:
    assert normalize_router_url(url) == normal


@pytest.mark.parametrize(
    "url",
    [
        "",
        "router:30000",
        "grpc://router:1",
        "http://",
        "http://r?a=1",
        "http://r#a",
        "http://r r",
        "http://r:0",
        "http://r:99999",
        "http://r:abc",
        "http://r:",
        "http://:30000",
        "http://[::1",
        "http://::1",
        "http://[zz]:1",
        "http://xn--:1",
    ],
)
def test_what_is_no_router_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidRouterURLError, match="such as http://router:30000"):
        RouterLifecycleClient(url)


def test_a_router_url_with_a_password_is_refused_without_being_shown() -> None:
    with pytest.raises(InvalidRouterURLError) as caught:
        normalize_router_url("http://user:s3cret@router:30000")
    assert "s3cret" not in str(caught.value)
