"""Where the weight version stands in what a rollout holds: responses of an engine, and the records of a session ingress."""

from collections.abc import Iterator, Mapping
from typing import Any

from router_lifecycle.publication.guard import WeightVersionGuard

Json = Mapping[str, Any]


def check_response(guard: WeightVersionGuard, body: Json, *, model: object, source: str | None = None) -> None:
    """Check a response to a direct rollout, of SGLang's /generate or of its OpenAI routes.

    /generate names the version as `meta_info.weight_version`, the OpenAI routes as `metadata.weight_version` or in each choice's
    `meta_info`. Every version that is named is checked, and a response that names none is checked as one without.

    Args:
        guard: What checks.
        body: The response, read from JSON; of a batch, one entry.
        model: As the request named it, or None.
        source: Where it came from, for the error.

    Raises:
        StaleWeightError: It breaks a rule.
        TypeError: The model isn't a string, or a version is neither a string nor a number.
    """
    for version in list(_versions(body)) or [None]:
        guard.check(model=model, version=version, source=source)


def check_session_record(guard: WeightVersionGuard, record: Json, *, source: str | None = None) -> None:
    """Check one exchange that a session ingress recorded: `request` and `response`, as the client and the engine sent them.

    Args:
        guard: What checks.
        record: The exchange, read from JSON.
        source: Where it came from, for the error.

    Raises:
        StaleWeightError: It breaks a rule.
        TypeError: The request's model isn't a string, or request or response is no object.
    """
    request, response = record.get("request"), record.get("response")
    if not (isinstance(request, Mapping) and isinstance(response, Mapping)):
        raise TypeError(
            f"a session record needs the objects request and response, not {type(request).__name__} and "
            f"{type(response).__name__}"
        )
    check_response(guard, response, model=request.get("model"), source=source)


def _versions(body: Json) -> Iterator[Any]:
    """Yield each version that a response names; a choice without one counts unless the whole response names one."""
    for name in ("meta_info", "metadata"):
        holder = body.get(name)
        if isinstance(holder, Mapping) and holder.get("weight_version") is not None:
            yield holder["weight_version"]
            return
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        holder = choice.get("meta_info") if isinstance(choice, Mapping) else None
        yield holder.get("weight_version") if isinstance(holder, Mapping) else None
