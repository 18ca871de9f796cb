"""The client against the released routers, and the fake router against them: every scenario with every release.

Each release runs from an isolated environment that holds its wheel; all scenarios are played beside each other when the first test
asks, and each test looks at its own. Engines are stood in for; nothing of the routers is.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from outcome_table import OutcomeCase, OutcomeTable
from rounds import Rounds
from scenarios import DIFFERENCES, SCENARIOS, TABLE, named
from sites import SMG, STOOD_IN, VERSIONS
from trial import Trial

# The first of a fresh machine waits for six wheels of 20 to 60 MB; everybody else waits for the slowest scenario.
pytestmark = pytest.mark.timeout(600)


@dataclass
class RouterCase(OutcomeCase):
    """A scenario at one release, real and fake."""

    name: str
    difference: str = ""
    real: Trial | None = None
    fake: Trial | None = None

    @property
    def table(self) -> OutcomeTable:
        return TABLE

    def rows(self) -> list[str]:
        assert self.real is not None
        assert self.fake is not None
        found, played = self.real.found, self.fake.found
        at_fake = f"{'the same' if played == found else '; '.join(played)}{self.difference and f' — {self.difference}'}"
        measured = [str(self.real.requests), str(self.real.resubmitted), f"{self.real.seconds:.1f}"]
        measured += [str(self.fake.requests), f"{self.fake.seconds:.1f}"]
        return [f"| **{self.name}** | {'; '.join(found)} | {at_fake} | {' | '.join(measured)} |"]


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rounds]:
    """Play what the selected tests are about."""
    keys = [
        (str(item.callspec.params["scenario"]), str(item.callspec.params["version"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.get_closest_marker("scenario")
    ]
    with Rounds(keys, tmp_path_factory.mktemp("routers")) as playing:
        yield playing


@pytest.fixture
def case(scenario: str, version: str) -> RouterCase:
    return RouterCase(f"{scenario}, {version}")


@pytest.mark.scenario
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "scenario",
    [pytest.param(name, marks=pytest.mark.long if each.is_long else ()) for name, each in SCENARIOS.items()],
)
def test_a_released_router_and_the_fake_one_lead_to_the_outcome_in_the_table(
    scenario: str, version: str, rounds: Rounds, case: RouterCase
) -> None:
    told = rounds.told[version].result()
    assert told["strangers"] == [], "modules that aren't of the wheel"
    assert any(file.endswith(".so") for file in told["modules"]), told["modules"]
    assert told["distribution"] == ("smg" if version == SMG else "sglang-router")
    assert told["version"] == version.removeprefix("smg-")
    assert all(Path(file).is_relative_to(told["place"]) for file in told["modules"])
    sys.stdout.write(
        f"{told['distribution']} {told['version']}, Python {told['python']}, from {told['place']}; stood in for: {STOOD_IN}\n"
    )

    case.real, case.fake = rounds.real[scenario, version].result(), rounds.fake[scenario, version].result()
    differing = [
        f"{asked}: {answer} | {case.fake.answers.get(asked)}"
        for asked, answer in case.real.answers.items()
        if case.fake.answers.get(asked) != answer
    ]
    case.difference = DIFFERENCES.get((scenario, version), "")
    differs = bool(differing) or case.real.found != case.fake.found
    assert differs is bool(case.difference), "\n".join(
        ["real | fake:", *differing, f"{case.real.found} | {case.fake.found}", f"explained: {case.difference or 'no'}"]
    )


def test_every_scenario_has_its_row_for_every_release_in_the_document_and_nothing_else_has() -> None:
    recorded = TABLE.recorded(TABLE.document.read_text())
    assert list(recorded) == named(), f"run: uv run python {TABLE.script}"
    assert all(rows and all(rows[0]) for rows in recorded.values())
