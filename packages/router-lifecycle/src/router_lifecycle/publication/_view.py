"""How a gate is shown."""

from collections import Counter
from collections.abc import Iterable, Mapping

from router_lifecycle.publication.generations import EngineEntry, EngineState, ModelEntry

_HEADER = ("MODEL", "ENGINE", "GENERATION", "STATE", "REASON")


def table(entries: Iterable[EngineEntry]) -> str:
    """Return the engines as a table; generation ids are cut to 8 characters."""
    rows = [_HEADER]
    for entry in entries:
        generation = entry.generation
        reason = " ".join((entry.reason or "-").split())
        rows.append((generation.model, generation.engine_id, generation.generation_id[:8], str(entry.state), reason))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def counts(entries: Iterable[EngineEntry], models: Mapping[str, ModelEntry]) -> dict[str, int]:
    """Return how many engines of each model are in each state, and what happened to updatable models so far."""
    states = Counter((entry.generation.model, entry.state) for entry in entries)
    numbers = {
        f"publication/{model}/{state}": states[model, state]
        for model in sorted({*models, *(model for model, _ in states)})
        for state in EngineState
    }
    for model, record in models.items():
        numbers[f"publication/{model}/publications"] = record.publications
        numbers[f"publication/{model}/quarantines"] = record.quarantines
    return numbers
