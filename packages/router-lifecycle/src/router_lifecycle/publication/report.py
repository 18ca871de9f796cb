"""What became of the generations that were to be registered."""

from dataclasses import dataclass, field

from router_lifecycle.publication.generations import EngineGeneration


@dataclass(slots=True)
class PublishReport:
    """What became of the generations that were to be registered; nothing is raised for them, so that training goes on.

    Attributes:
        registered: Those that are routable now.
        pending: Those that the next publication tries again, and why.
        quarantined: Those that were stopped, and why; start them again with `GatedFleet.recover`.
        busy: Engines that still had requests, or couldn't tell, when their time to drain was over, and were updated all the same.
    """

    registered: list[EngineGeneration] = field(default_factory=list)
    pending: dict[EngineGeneration, Exception] = field(default_factory=dict)
    quarantined: dict[EngineGeneration, Exception] = field(default_factory=dict)
    busy: list[EngineGeneration] = field(default_factory=list)

    def add(self, other: "PublishReport") -> None:
        """Take in what another report says."""
        self.registered += other.registered
        self.pending |= other.pending
        self.quarantined |= other.quarantined
        self.busy += other.busy
