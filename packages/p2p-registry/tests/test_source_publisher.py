"""The publisher against a real registry, on a clock that is moved by hand."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from fractions import Fraction
from typing import cast

import grpc.aio
import pytest
from publisher_peers import START, HeldProvider, ManualTime, RecordingRegistry, address_of, registration, until

from p2p_registry import (
    InvalidIdentityError,
    PublisherSettings,
    PublisherState,
    Registration,
    SettingError,
    SourceIdentity,
)
from p2p_registry.publisher import SourcePublisher
from p2p_registry.server import CHANNEL_OPTIONS
from p2p_registry.wire import SourceIdentity as WireIdentity
from p2p_registry.wire import SourceStatus, WorkerMetadata

QUICK_END = PublisherSettings(stop_seconds=2)


class Scene:
    """A publisher, its registry and its clock."""

    def __init__(self, channel: grpc.aio.Channel, registry: RecordingRegistry) -> None:
        self.registry = registry
        self.channel = channel
        self.clock = ManualTime()
        self.changes: list[PublisherState] = []
        self.publisher: SourcePublisher | None = None

    def publish(
        self, provider: Callable[[], float | None] | None = None, settings: PublisherSettings | None = None
    ) -> SourcePublisher:
        self.publisher = SourcePublisher(
            self.channel,
            registration(),
            provider=provider,
            settings=settings,
            on_change=lambda state, _: self.changes.append(state),
            clock=self.clock,
        )
        return self.publisher

    async def reading_of(self, seconds: float) -> None:
        """Wait for the provider's answer to the question of that time."""
        assert self.publisher is not None
        load = self.publisher._load
        assert load is not None
        await until(lambda: load.reading is not None and load.reading.asked_at == START + seconds)


@asynccontextmanager
async def opened() -> AsyncIterator[Scene]:
    registry = RecordingRegistry()
    async with (
        address_of(registry) as address,
        grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS) as channel,
    ):
        yield Scene(channel, registry)


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with opened() as one:
        yield one


async def test_a_source_is_published_not_ready_then_beats_every_30_seconds_until_it_says_stale(scene: Scene) -> None:
    async with scene.publish() as publisher:
        await scene.clock.pass_to(29)
        assert scene.registry.told == [("PUBLISH", None), ("READY", None)]
        # A publication that says nothing of its state would be listed by nobody who asks for READY sources, and by all others.
        (publication,) = scene.registry.publications
        assert publication.worker.status == SourceStatus.SOURCE_STATUS_INITIALIZING
        assert publication.worker.agent_name == "agent"
        # A source that publishes once and falls silent is reaped while others still want it.
        await scene.clock.pass_to(125)
        assert scene.registry.told[1:] == [("READY", None)] * 5
        assert publisher.state is PublisherState.READY
        (summary,) = await scene.registry.backend.summaries(None)
        assert summary.key.source_id == publisher.mx_source_id
        assert summary.key.worker_rank == 3
    assert scene.registry.told[6:] == [("STALE", None)]
    assert scene.changes == [PublisherState.PUBLISHING, PublisherState.READY, PublisherState.STOPPED]
    await publisher.stop()
    assert scene.registry.told[6:] == [("STALE", None)]


def fails() -> float:
    raise OSError("no such port")


def leaves() -> float:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("provider", "sent", "warnings"),
    [
        (lambda: 0.73, 0.73, 0),
        (lambda: 0.0, 0.0, 0),
        (lambda: 1, 1.0, 0),
        (lambda: Fraction(1, 4), 0.25, 0),
        (lambda: None, None, 0),
        (fails, None, 1),
        (leaves, None, 1),
        (lambda: 55.0, None, 1),
        (lambda: math.nan, None, 1),
        (lambda: "0.5", None, 1),
    ],
    ids=["0.73", "zero", "one", "quarter", "None", "raises", "exits", "55", "nan", "text"],
)
async def test_a_load_is_forwarded_and_anything_else_leaves_the_field_unset(
    scene: Scene,
    provider: Callable[[], float | None],
    sent: float | None,
    warnings: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene.publish(provider):
        await scene.clock.pass_to(25)
        await scene.reading_of(25)
        await scene.clock.pass_to(55)
        await scene.reading_of(55)
        await scene.clock.pass_to(60)
        assert scene.registry.told[2:] == [("READY", sent)] * 2
    assert sum("its provider failed" in record.message for record in caplog.records) == warnings


async def test_the_first_heartbeat_has_no_load_that_nobody_measured(scene: Scene) -> None:
    provider = HeldProvider(0.4)
    async with scene.publish(provider):
        await provider.called()
        await scene.clock.pass_to(1)
        assert scene.registry.told == [("PUBLISH", None), ("READY", None)]
        provider.go()


async def test_a_slow_provider_never_makes_a_heartbeat_late_and_is_never_called_twice_at_once(scene: Scene) -> None:
    provider = HeldProvider(0.4)
    async with scene.publish(provider):
        await scene.clock.pass_to(95)
        assert scene.registry.told == [("PUBLISH", None), *[("READY", None)] * 4]
        assert provider.calls == 1
        provider.go()
        await provider.called()
        await provider.called()
        provider.go()
        await scene.reading_of(95)
        await scene.clock.pass_to(120)
        # What it answered in time.
        assert scene.registry.told[-1] == ("READY", 0.4)
        provider.go()
        provider.go()


async def test_an_old_load_is_not_sent_as_a_new_one(scene: Scene) -> None:
    provider = HeldProvider(0.4)
    async with scene.publish(provider):
        provider.go()
        await scene.reading_of(0)
        await scene.clock.pass_to(25)
        provider.go()
        await scene.reading_of(25)
        await scene.clock.pass_to(30)
        # From now on it hangs.
        await scene.clock.pass_to(60)
        assert scene.registry.told[-2:] == [("READY", 0.4), ("READY", None)]
        provider.go()


async def test_a_lost_record_is_published_again_after_two_refused_heartbeats(scene: Scene) -> None:
    async with scene.publish():
        await scene.clock.pass_to(29)
        await scene.registry.lose_everything()
        await scene.clock.pass_to(59)
        assert scene.registry.told[2:] == [("READY", None)]
        await scene.clock.pass_to(60)
        assert scene.registry.told[2:] == [("READY", None), ("READY", None), ("PUBLISH", None), ("READY", None)]
        assert len(await scene.registry.backend.summaries(None)) == 1
    assert scene.changes == [
        PublisherState.PUBLISHING,
        PublisherState.READY,
        PublisherState.REFUSED,
        PublisherState.PUBLISHING,
        PublisherState.READY,
        PublisherState.STOPPED,
    ]


async def test_calls_without_an_answer_never_publish_again(scene: Scene) -> None:
    async with scene.publish() as publisher:
        await scene.clock.pass_to(29)
        scene.registry.answers = False
        await scene.clock.pass_to(59)
        # At 30 s, and then every 5 s.
        assert scene.registry.told[2:] == [("READY", None)] * 6
        assert scene.changes[-1] is PublisherState.UNREACHABLE
        assert publisher.reason.startswith("UNKNOWN: ")
        scene.registry.answers = True
        await scene.clock.pass_to(60)
        assert publisher.state is PublisherState.READY
    assert len(scene.registry.publications) == 1


async def test_a_registry_that_is_not_there_yet_is_found_later() -> None:
    clock = ManualTime()
    registry = RecordingRegistry()
    async with address_of(registry) as address:
        pass
    async with grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS) as channel:
        publisher = SourcePublisher(channel, registration(), clock=clock)
        async with publisher:
            await clock.pass_to(4)
            assert publisher.state is PublisherState.UNREACHABLE
            assert publisher.reason.startswith("UNAVAILABLE: ")
            assert publisher.mx_source_id is None
        assert (publisher.state, publisher.reason) == (PublisherState.STOPPED, "nothing was published")


async def test_a_heartbeat_that_hangs_is_given_up_and_the_next_one_is_not_late(scene: Scene) -> None:
    async with scene.publish(settings=PublisherSettings(call_seconds=1)) as publisher:
        await scene.clock.pass_to(29)
        scene.registry.hold = asyncio.Event()
        await scene.clock.pass_to(34)
        assert publisher.reason.startswith("DEADLINE_EXCEEDED: ")
        scene.registry.hold.set()
        await scene.clock.pass_to(60)
        # At 30 s in vain, again 5 s later, and at 60 s.
        assert scene.registry.told[2:] == [("READY", None)] * 3
        assert publisher.state is PublisherState.READY


async def test_a_registry_that_was_away_for_a_while_hears_the_next_heartbeats_and_nothing_is_published_again() -> None:
    registry = RecordingRegistry()
    settings = PublisherSettings(heartbeat_seconds=0.2, retry_seconds=0.1)
    async with address_of(registry) as address:
        channel = grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)
        publisher = SourcePublisher(channel, registration(), settings=settings)
        await publisher.start()
        await until(lambda: publisher.state is PublisherState.READY)
    await until(lambda: publisher.state is PublisherState.UNREACHABLE)
    async with address_of(registry, address):
        await until(lambda: publisher.state is PublisherState.READY)
        await publisher.stop()
        await channel.close()
    assert registry.told[-1] == ("STALE", None)
    assert len(registry.publications) == 1


async def test_the_goodbye_comes_after_a_heartbeat_under_way(scene: Scene) -> None:
    scene.registry.hold = asyncio.Event()
    publisher = scene.publish()
    await publisher.start()
    await scene.registry.wait_for(("READY", None))
    stopping = asyncio.create_task(publisher.stop())
    for _ in range(10):
        await asyncio.sleep(0)
    assert scene.registry.told[-1] == ("READY", None)
    scene.registry.hold.set()
    await stopping
    # A call that was cut off could have come after the goodbye.
    assert scene.registry.answered == ["READY", "STALE"]
    (summary,) = await scene.registry.backend.summaries(None)
    assert summary.state.status.name == "STALE"


async def test_a_heartbeat_that_hangs_keeps_the_goodbye_back_for_a_while_only(scene: Scene) -> None:
    scene.registry.hold = asyncio.Event()
    publisher = scene.publish(settings=QUICK_END)
    await publisher.start()
    await scene.registry.wait_for(("READY", None))
    await publisher.stop()
    await scene.registry.wait_for(("STALE", None))
    assert publisher.reason == "marked STALE"


async def test_a_goodbye_that_nobody_hears_is_told(scene: Scene) -> None:
    publisher = scene.publish()
    async with publisher:
        await scene.clock.pass_to(1)
        scene.registry.answers = False
    assert publisher.state is PublisherState.STOPPED
    assert publisher.reason.startswith("not marked STALE, so it stays listed until its heartbeat is too old: UNKNOWN: ")


async def test_a_closed_channel_is_no_end_of_the_publisher(scene: Scene) -> None:
    async with scene.publish() as publisher:
        await scene.clock.pass_to(1)
        await scene.channel.close()
        await scene.clock.pass_to(31)
        assert publisher.state is PublisherState.UNREACHABLE


async def test_a_channel_that_is_closed_during_a_call_is_no_end_of_the_publisher(scene: Scene) -> None:
    scene.registry.hold = asyncio.Event()
    async with scene.publish(settings=QUICK_END) as publisher:
        await scene.registry.wait_for(("READY", None))
        await scene.channel.close()
        await scene.clock.pass_to(1)
        assert publisher.state is PublisherState.UNREACHABLE
        assert publisher.reason == "the channel was closed during the call"


async def test_a_listener_that_fails_changes_nothing(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    def on_change(state: PublisherState, reason: str) -> None:
        raise ValueError(f"{state}: {reason}")

    publisher = SourcePublisher(scene.channel, registration(), on_change=on_change, clock=scene.clock)
    async with publisher:
        await scene.clock.pass_to(31)
    assert scene.registry.told[-2:] == [("READY", None), ("STALE", None)]
    assert any(record.message.startswith("on_change failed") for record in caplog.records)


async def test_changes_are_logged_once_each(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "p2p_registry.publisher"):
        async with scene.publish():
            await scene.clock.pass_to(65)
            scene.registry.answers = False
            await scene.clock.pass_to(155)
            scene.registry.answers = True
    ours = [record for record in caplog.records if record.name == "p2p_registry.publisher"]
    told = [(record.levelname, record.getMessage().split(": ")[1]) for record in ours]
    assert told == [("INFO", "publishing"), ("INFO", "ready"), ("WARNING", "unreachable"), ("INFO", "stopped")]


async def test_what_could_never_be_published_is_refused_before_anything_starts(scene: Scene) -> None:
    for wrong in (0.5, "load"):
        with pytest.raises(SettingError, match=r"provider=.* is not allowed: a function without arguments is"):
            scene.publish(cast("Callable[[], float]", wrong))
    message = WireIdentity(model_name="m")
    with pytest.raises(
        InvalidIdentityError, match=r"a p2p_registry\.SourceIdentity is allowed, not the wire's message"
    ):
        Registration(identity=cast("SourceIdentity", message), metadata=WorkerMetadata())


def test_each_life_of_a_process_has_an_id_of_its_own() -> None:
    one, two = (Registration(identity=SourceIdentity(model_name="m"), metadata=WorkerMetadata()) for _ in range(2))
    assert one.worker_id != two.worker_id
    assert len(one.worker_id) == 8
    int(one.worker_id, 16)


def test_later_changes_of_the_metadata_given_are_not_published() -> None:
    metadata = WorkerMetadata(agent_name="first")
    one = Registration(identity=SourceIdentity(model_name="m"), metadata=metadata)
    metadata.agent_name = "second"
    assert one.publication().worker.agent_name == "first"
    assert metadata.status == SourceStatus.SOURCE_STATUS_UNKNOWN


def test_where_the_pod_is_known_its_owner_fields_are_published() -> None:
    one = Registration(
        identity=SourceIdentity(model_name="m"),
        metadata=WorkerMetadata(),
        pod_name="p",
        pod_uid="u",
        pod_namespace="n",
    )
    request = one.publication()
    assert (request.pod_name, request.pod_uid, request.pod_namespace) == ("p", "u", "n")
