"""What differs between router releases, as data; observed by running each release, except where a comment says so."""

from dataclasses import dataclass
from enum import StrEnum


class IdKind(StrEnum):
    """What names a worker in the paths of a router."""

    URL = "url"
    """The worker's URL, percent-encoded: sglang-router 0.2.x."""
    UUID4 = "uuid4"
    """A random UUID: sglang-router 0.3.x."""
    UUID7 = "uuid7"
    """A UUID that begins with the time: SMG."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RouterProfile:
    """The behaviour of one router release.

    Attributes:
        version: The release: of sglang-router, or of SMG with `smg-` in front.
        ids: What names a worker.
        is_smg: 409s, a drain, PATCH, no record of a failure, errors as JSON.
        has_legacy_routes: `/add_worker`, `/remove_worker` and `/list_workers` exist.
        registers_first: A worker is listed, unhealthy, before it is probed.
        takes_any_health_answer: An engine that answers 503 is taken for healthy.
        completes_url: `host:port` is registered as `http://host:port`, under an id that the answer didn't name.
        job_slots: Jobs that run at once; the others wait as `pending`. None is no limit.
        queue_room: Jobs that wait; a request beyond it is never answered.
        startup_timeout_seconds: Default of `--worker-startup-timeout-secs`.
        probe_gaps_seconds: Time between the first probes of a new worker; the last gap repeats.
        last_probe_seconds: When probing stops whatever the start-up timeout, or None where the timeout decides.
        register_seconds: From a good probe to the entry in the list.
        unreadable_seconds: How much longer that takes where the engine doesn't tell the router about itself.
        finish_seconds: From the entry to the end of the job.
        connection_mode: How HTTP is spelt.
        evicts_running_jobs: The record of a job that runs is dropped after 300 s as well.
    """

    version: str
    ids: IdKind
    is_smg: bool = False
    has_legacy_routes: bool = False
    registers_first: bool = False
    takes_any_health_answer: bool = False
    completes_url: bool = True
    job_slots: int | None = 10
    queue_room: int = 1001
    startup_timeout_seconds: float = 1800.0
    probe_gaps_seconds: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0)
    last_probe_seconds: float | None = None
    register_seconds: float = 0.05
    unreadable_seconds: float = 0.0
    finish_seconds: float = 0.0
    connection_mode: str = "HTTP"
    evicts_running_jobs: bool = True


PROFILES: dict[str, RouterProfile] = {
    profile.version: profile
    for profile in (
        RouterProfile(
            version="0.2.0",
            ids=IdKind.URL,
            has_legacy_routes=True,
            registers_first=True,
            completes_url=False,
            job_slots=2,
            queue_room=1000,
            startup_timeout_seconds=600.0,
            probe_gaps_seconds=(1.0,),
            connection_mode="Http",
        ),
        RouterProfile(
            version="0.2.2",
            ids=IdKind.URL,
            takes_any_health_answer=True,
            queue_room=1000,
            startup_timeout_seconds=600.0,
            last_probe_seconds=35.0,
            register_seconds=0.008,
            connection_mode="Http",
        ),
        RouterProfile(version="0.2.4", ids=IdKind.URL, unreadable_seconds=2.5),
        RouterProfile(version="0.3.0", ids=IdKind.UUID4, register_seconds=0.06, finish_seconds=0.05),
        RouterProfile(version="0.3.2", ids=IdKind.UUID4, register_seconds=0.06, finish_seconds=0.05),
        RouterProfile(
            version="smg-1.13.0",
            ids=IdKind.UUID7,
            is_smg=True,
            completes_url=False,
            job_slots=None,
            probe_gaps_seconds=(30.0,),
            register_seconds=0.17,
            unreadable_seconds=2.5,
            connection_mode="http",
            evicts_running_jobs=False,
        ),
    )
}
"""The releases that the fake can play, by version."""
