from dataclasses import dataclass, field
from router_lifecycle.publication.generations import EngineGeneration as EngineGeneration

@dataclass(slots=True)
class PublishReport:
    registered: list[EngineGeneration] = field(default_factory=list)
    pending: dict[EngineGeneration, Exception] = field(default_factory=dict)
    quarantined: dict[EngineGeneration, Exception] = field(default_factory=dict)
    busy: list[EngineGeneration] = field(default_factory=list)
    def add(self, other: PublishReport) -> None: ...
