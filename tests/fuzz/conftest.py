"""How many frames were executed: counted by the tests, printed at the end of the run."""

from collections import Counter

import pytest

_TALLY = pytest.StashKey[Counter[str]]()


@pytest.fixture(scope="session")
def executed(pytestconfig: pytest.Config) -> Counter[str]:
    """Frames executed in this run, by who had to take them."""
    return pytestconfig.stash.setdefault(_TALLY, Counter())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the counts."""
    tally = config.stash.get(_TALLY, Counter[str]())
    if tally:
        counts = ", ".join(f"{count:,} by {who}" for who, count in sorted(tally.items()))
        terminalreporter.write_line(f"fuzz: {tally.total():,} frames executed: {counts}")
