from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from router_lifecycle.publication.errors import StaleWeightError as StaleWeightError
from router_lifecycle.publication.interfaces import PublishedVersions as PublishedVersions
from typing import NamedTuple, TypeAlias

GuardRule: TypeAlias

class WeightVersionSpan(NamedTuple):
    version: str | int | None
    tokens: int

@dataclass(frozen=True, kw_only=True, slots=True)
class GuardPolicy:
    default_model: str
    rules: frozenset[GuardRule] = ...
    unpublished_versions: frozenset[str] = ...
    max_versions_behind: int | None = ...
    exempt_models: Mapping[str, str] = field(default_factory=dict)
    exempt_all: str | None = ...
    def __post_init__(self) -> None: ...

class WeightVersionGuard:
    policy: GuardPolicy
    def __init__(self, versions: PublishedVersions, policy: GuardPolicy) -> None: ...
    def check(self, *, model: object = None, version: str | int | None = None, spans: Sequence[WeightVersionSpan] | None = None, source: str | None = None) -> None: ...
