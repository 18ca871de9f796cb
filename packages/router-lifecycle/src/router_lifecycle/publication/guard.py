"""The guard: does a response prove that it was made with published weights? Pure but for the store of published versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from router_lifecycle.publication.errors import StaleWeightError
from router_lifecycle.publication.interfaces import PublishedVersions

GuardRule: TypeAlias = Literal["unpublished", "missing", "below_minimum", "changing", "unreadable"]
"""What a response of a published model may be refused for: it names the version of a checkpoint, names none, names one below the
minimum, names several, or names one that is no number and so can't be compared with the minimum."""

_ALL_RULES: frozenset[GuardRule] = frozenset({"unpublished", "missing", "below_minimum", "changing", "unreadable"})


class WeightVersionSpan(NamedTuple):
    """Consecutive tokens of one response that were made with one version.

    Attributes:
        version: As the engine names it, or None where it doesn't.
        tokens: How many tokens.
    """

    version: str | int | None
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GuardPolicy:
    """What is asked of responses.

    Attributes:
        default_model: The model that None and "default" stand for.
        rules: What is refused; a rule that is left out is not looked at.
        unpublished_versions: What an engine calls weights that nobody transferred to it.
        max_versions_behind: How far behind the published version a response may be; None sets no minimum. Choose it from how many
            updates a rollout may outlive.
        exempt_models: Models that aren't looked at, with the reason, such as {"reference": "frozen", "lora-1": "LoRA adapter"}.
        exempt_all: Why nothing at all is looked at, such as "debug: rollout only", or None to look.
    """

    default_model: str
    rules: frozenset[GuardRule] = _ALL_RULES
    unpublished_versions: frozenset[str] = frozenset({"default"})
    max_versions_behind: int | None = None
    exempt_models: Mapping[str, str] = field(default_factory=dict)
    exempt_all: str | None = None

    def __post_init__(self) -> None:
        """Refuse what can't be meant."""
        if unknown := set(self.rules) - _ALL_RULES:
            raise ValueError(f"rules {sorted(unknown)} are not known: allowed are {sorted(_ALL_RULES)}")
        if self.max_versions_behind is not None and self.max_versions_behind < 0:
            raise ValueError(f"max_versions_behind={self.max_versions_behind} is not allowed: 0 or more, or None")


class WeightVersionGuard:
    """Refuses responses of a published model that don't name published weights."""

    def __init__(self, versions: PublishedVersions, policy: GuardPolicy) -> None:
        """Take what is published, and what is asked for."""
        self._versions = versions
        self.policy: GuardPolicy = policy

    def check(
        self,
        *,
        model: object = None,
        version: str | int | None = None,
        spans: Sequence[WeightVersionSpan] | None = None,
        source: str | None = None,
    ) -> None:
        """Return when a response may be trained on.

        Args:
            model: The model as the request named it; None and "default" are the policy's default model.
            version: The weight version that the response names, or None when it names none.
            spans: Its versions span by span, instead of `version`.
            source: Where it came from, for the error.

        Raises:
            StaleWeightError: It breaks a rule of the policy.
            TypeError: The model isn't a string, or a version is neither a string nor a number.
            ValueError: Both version and spans are given.
        """
        if version is not None and spans is not None:
            raise ValueError("check takes version or spans, not both")
        name = self._name(model)
        named = tuple(_text(span.version) for span in spans) if spans else (_text(version),)
        if self.policy.exempt_all is not None or name in self.policy.exempt_models:
            return
        published = self._versions.current(name)
        if published is None:
            return
        behind = self.policy.max_versions_behind
        minimum = None if behind is None else max(0, published - behind)
        broken = next((found for text in named if (found := self._broken(text, minimum))), None)
        if broken is None and len(set(named)) > 1 and "changing" in self.policy.rules:
            broken = "changing", "the weights changed inside one response"
        if broken is not None:
            rule, reason = broken
            raise StaleWeightError(
                model=name,
                rule=rule,
                reason=reason,
                versions=named,
                published=str(published),
                minimum=minimum,
                source=source,
            )

    def _name(self, model: object) -> str:
        if model is None or model == "default":
            return self.policy.default_model
        if not isinstance(model, str):
            raise TypeError(f"the model of a request must be a string or None, not {model!r} ({type(model).__name__})")
        return model

    def _broken(self, version: str | None, minimum: int | None) -> tuple[GuardRule, str] | None:
        """Return the first rule that a version breaks by itself, and how."""
        found: tuple[GuardRule, str] | None = None
        if version is None:
            found = "missing", "it names no weight version"
        elif version in self.policy.unpublished_versions:
            found = "unpublished", "it names weights that were never transferred, though the model is published"
        elif minimum is not None:
            if not (version.isascii() and version.isdigit()):
                found = "unreadable", "its weight version is no number and can't be compared with the minimum"
            elif int(version) < minimum:
                found = "below_minimum", "its weight version is below the minimum"
        return found if found and found[0] in self.policy.rules else None


def _text(version: str | int | None) -> str | None:
    """Return a version as text; an empty one is none."""
    if version is None or version == "":
        return None
    if isinstance(version, bool) or not isinstance(version, str | int):
        raise TypeError(f"a weight version must be a string or a whole number, not {version!r}")
    return str(version)
