"""The errors of router_lifecycle.publication.

RouterLifecycleError
└── PublicationError
    ├── GateError            a generation or a model can't be treated as asked; nothing was changed
    ├── URLUnresolvedError   an engine came up on a URL that the router may still route for an earlier one; it was stopped
    ├── EngineStateError     an engine isn't in a state for what was asked
    ├── EngineStopError      the processes of an engine could not be stopped
    └── StaleWeightError     a response doesn't prove that it was made with published weights
"""

from functools import partial
from typing import Any

from router_lifecycle.errors import RouterLifecycleError


class PublicationError(RouterLifecycleError):
    """Base of every error of this package."""


class GateError(PublicationError, ValueError):
    """A generation or a model can't be treated as asked; the gate is as it was.

    What to do: ask the gate's `table()` what it holds, and mend the caller.
    """


class EngineStateError(PublicationError):
    """An engine isn't in a state for what was asked.

    What to do: look at the engine's state first; nothing was done.
    """


class URLUnresolvedError(PublicationError):
    """An engine came up on a URL that the router may still route for an earlier one; it was stopped again.

    What to do: let the launcher keep to `avoid_urls`, or resolve the removal first.

    Attributes:
        engine_id: The engine.
        url: The URL.
    """

    def __init__(self, engine_id: str, url: str) -> None:
        """Name the engine and the URL."""
        super().__init__(engine_id, url)
        self.engine_id = engine_id
        self.url = url

    def __str__(self) -> str:
        """Say what happened and what to do, in one line."""
        return (
            f"engine {self.engine_id} came up on {self.url}, whose removal from the router is unresolved, and was stopped; "
            "let the launcher keep to avoid_urls, or resolve the removal first (UnresolvedRemovals.resolve)"
        )


class EngineStopError(PublicationError):
    """The processes of an engine could not be stopped, not even by force; its URL isn't used again.

    What to do: end its processes by hand.

    Attributes:
        engine_id: The engine.
    """

    def __init__(self, engine_id: str) -> None:
        """Name the engine."""
        super().__init__(engine_id)
        self.engine_id = engine_id

    def __str__(self) -> str:
        """Say what happened and what to do, in one line."""
        return f"engine {self.engine_id} could not be stopped, not even by force; end its processes by hand"


class StaleWeightError(PublicationError):
    """A response doesn't prove that it was made with published weights: don't train on it.

    What to do: throw the response away, and look at how its engine came to serve these weights.

    Attributes:
        model: The model, by its name.
        reason: What is wrong, as half a sentence.
        rule: The rule that it breaks: `unpublished`, `missing`, `below_minimum`, `changing` or `unreadable`.
        versions: The versions that the response names, in order; None where it names none.
        published: The version that is published, or None when it isn't known.
        minimum: The lowest version allowed, or None.
        source: What the response came from, such as an engine's URL or a request id, or None.
    """

    def __init__(
        self,
        *,
        model: str,
        reason: str,
        rule: str,
        versions: tuple[str | None, ...],
        published: str | None,
        minimum: int | None,
        source: str | None,
    ) -> None:
        """Give all that is known."""
        super().__init__(reason)
        self.model = model
        self.reason = reason
        self.rule = rule
        self.versions = versions
        self.published = published
        self.minimum = minimum
        self.source = source

    def __str__(self) -> str:
        """Say what was received, what is allowed and what to do, in one line."""
        received = ", ".join("none" if version is None else repr(version) for version in self.versions) or "none"
        parts = [
            f"response of model {self.model!r}" + (f" from {self.source}" if self.source else "") + f": {self.reason}",
            f"received weight_version {received}",
            f"published {'-' if self.published is None else self.published}",
        ]
        if self.minimum is not None:
            parts.append(f"minimum {self.minimum}")
        parts.append(
            "don't train on it, and look for an engine that was registered before its weights were synchronised"
        )
        return "; ".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive a process boundary whole."""
        known = {name: value for name, value in vars(self).items() if name != "__notes__"}
        return partial(type(self), **known), ()
