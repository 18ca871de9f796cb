"""A table of outcomes in a document: written from a run, and compared with in every other run."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
END = "<!-- up to here -->\n"


@dataclass(frozen=True)
class OutcomeTable:
    """Where a table stands, and what its columns are.

    Attributes:
        document: The document.
        folder: The folder of tests whose outcomes it holds; it has a script of the same name.
        columns: The heads of its columns: first the name of a case, which stands in the first of its rows only; an empty second
            cell means the one above.
        measured: How many columns, the last ones, differ from run to run.
    """

    document: Path
    folder: str
    columns: tuple[str, ...]
    measured: int

    @property
    def script(self) -> str:
        """What writes the table."""
        return f"scripts/gen_{self.folder}.py"

    @property
    def begin(self) -> str:
        """The line before the table."""
        return f"<!-- {self.script} writes what follows, from a run of tests/{self.folder} -->\n"

    @property
    def _rule(self) -> str:
        return "|" + "---|" * len(self.columns)

    def blocks(self, text: str) -> dict[str, list[str]]:
        """Return the rows of the table in a document by the name of their case."""
        found: dict[str, list[str]] = {}
        lines = text.partition(self.begin)[2].partition(END)[0].splitlines()
        for line in lines[lines.index(self._rule) + 1 :] if self._rule in lines else []:
            name = line.split("|")[1].strip().strip("*") if line else ""
            if name:
                found[name] = []
            if line:
                found[next(reversed(found))].append(line)
        return found

    def stable(self, rows: Iterable[str]) -> list[tuple[str, ...]]:
        """Return what must be the same in every run: everything of a case's rows but the name and what is measured."""
        found: list[tuple[str, ...]] = []
        event = ""
        for row in rows:
            _, then, *outcome = (cell.strip() for cell in row.split("|")[1:-1])
            event = then or event
            found.append((event, *outcome[: len(outcome) - self.measured]))
        return found

    def recorded(self, text: str) -> dict[str, list[tuple[str, ...]]]:
        """Return the outcomes in a document by the name of their case, without what is measured."""
        return {name: self.stable(rows) for name, rows in self.blocks(text).items()}

    def write(self, cases: "Iterable[OutcomeCase]", document: Path, names: list[str]) -> None:
        """Put the rows of these cases into the document's table; of the others those stay that have one of these names."""
        before, _, rest = document.read_text().partition(self.begin)
        after = rest.partition(END)[2]
        known = self.blocks(document.read_text()) | {case.name: case.rows() for case in cases}
        head = f"| {' | '.join(self.columns)} |"
        table = "\n".join([head, self._rule, *(line for name in names for line in known.get(name, []))])
        document.write_text(f"{before}{self.begin}\n{table}\n\n{END}{after}")


class OutcomeCase(ABC):
    """What a test found out, as rows of a table."""

    name: str

    @property
    @abstractmethod
    def table(self) -> OutcomeTable:
        """The table that it belongs to."""

    @abstractmethod
    def rows(self) -> list[str]:
        """Return its rows; only the first has the name."""
