"""Write the matrix of serving modes into docs/serving-modes.md; with --check, only compare."""

from collections.abc import Iterable

from generated_table import GeneratedDocument
from loadmonitor_worker.integrations import SERVING_MODES, SOURCES, SourceKind


def matrix() -> str:
    """Return who owns the reporter in each mode, and which source tells the load there, as Markdown."""
    owners = [
        (
            mode.name,
            mode.owner,
            f"`{mode.through}`",
            mode.closed_by,
            f"[{mode.example}](programs/{mode.example})" if mode.example else "-",
        )
        for mode in SERVING_MODES
    ]
    kinds = [f"{kind}: {', '.join(f'`{name}`' for name in SOURCES[kind])}" for kind in SourceKind]
    sources = [(mode.name, *(mode.sources[kind] for kind in SourceKind)) for mode in SERVING_MODES]
    return "\n".join(
        [
            *_table(("mode", "owner", "runs through", "closed by", "example"), owners),
            "",
            "Read on which side, and so with which source:",
            "",
            *_table(("mode", *kinds), sources),
            "",
        ]
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]


DOCUMENT = GeneratedDocument(
    "docs/serving-modes.md", "scripts/gen_serving_modes.py", {"loadmonitor_worker.integrations.modes": matrix}
)

if __name__ == "__main__":
    DOCUMENT.main(__doc__)
