"""How full a serving engine is, from its `/metrics` text: 0 to 1, or None with a reason. Pure.

What counts is the engine's share of used KV cache. A full one foretells transfers that no NIC has seen yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nic_metrics.blend import LOOKS_IDLE_BELOW
from nic_metrics.errors import ExpositionError, ExpositionProblem
from nic_metrics.exposition import Series, SeriesFinder

_SLEEP_STATE = "vllm:engine_sleep_state"


class LoadUnit(StrEnum):
    """In what a metric states a share."""

    RATIO = "ratio"
    """0 to 1; so do vLLM's `_perc` and Dynamo's `_percent`, whatever their names say."""

    PERCENT = "percent"
    """0 to 100."""


@dataclass(frozen=True, slots=True)
class LoadMetric:
    """A metric that states how full an engine is.

    Attributes:
        name: Its name, with the colons that it has at the engine.
        unit: In what it states it. Nothing is ever guessed from the numbers.
    """

    name: str
    unit: LoadUnit = LoadUnit.RATIO


DEFAULT_LOAD_METRICS: tuple[LoadMetric, ...] = tuple(
    map(
        LoadMetric,
        (
            "vllm:kv_cache_usage_perc",
            "vllm:gpu_cache_usage_perc",
            "sglang:token_usage",
            "sglang:cache_usage",
            "dynamo_component_gpu_cache_usage_percent",
            "trtllm_kv_cache_utilization",
        ),
    )
)
"""The metrics that are looked for, best first: a text that has several is read by the first."""

DEFAULT_PREFIXES: tuple[str, ...] = ("", "ray_")
"""What may stand before a metric's name: nothing, or what Ray's agent puts there."""


class ServingLoadReason(StrEnum):
    """Why a metrics text doesn't tell the serving load."""

    NO_METRIC = "no_metric"
    """None of the metrics is there: the engine is loading, or it is none that is known. That isn't idleness."""

    NO_SUCH_RANK = "no_such_rank"
    """The metric is there, but of other engines or ranks than the selected one."""

    NOT_KNOWN = "not_known"
    """The engine itself doesn't know: NaN, or a negative number; alone, or beside series that are next to idle."""

    OUT_OF_RANGE = "out_of_range"
    """A number above the whole. If the metric counts in percent, say so with `LoadUnit.PERCENT`."""

    SLEEPING = "sleeping"
    """The engine sleeps, its weights put away: it shows no load, and is no source."""

    CUT_OFF = "cut_off"
    """The text says that it is OpenMetrics and doesn't end with `# EOF`."""

    BAD_LINE = "bad_line"
    """A line of one of the metrics can't be read."""


_OF_PROBLEM = {
    ExpositionProblem.CUT_OFF: ServingLoadReason.CUT_OFF,
    ExpositionProblem.BAD_LINE: ServingLoadReason.BAD_LINE,
}


@dataclass(frozen=True, slots=True)
class ServingLoad:
    """What a metrics text tells: exactly one of `value` and `reason` is None.

    Attributes:
        value: The greatest share of used KV cache among the series that count, 0 to 1.
        reason: Why `value` is None.
        metric: Name of the metric that was read, as the text has it; None when there is none.
        series: How many series counted.
        ignored: How many more the engine shows without knowing them (NaN, negative): `value` is then a lower bound.
        detail: More of the reason, in words; "" when there is no more.
    """

    value: float | None
    reason: ServingLoadReason | None
    metric: str | None = None
    series: int = 0
    ignored: int = 0
    detail: str = ""


class ServingLoadReader:
    """Reads the serving load in the metrics texts of one engine."""

    def __init__(
        self,
        *,
        metrics: Sequence[LoadMetric] = DEFAULT_LOAD_METRICS,
        prefixes: Sequence[str] = DEFAULT_PREFIXES,
        select: Mapping[str, str] | None = None,
    ) -> None:
        """Say what is read.

        Args:
            metrics: The metrics that are looked for, best first.
            prefixes: What may stand before their names.
            select: Labels of the series that count, such as `{"engine": "1"}` or `{"dp_rank": "1"}`, so that a rank reports its
                own load. A label that a metric shows on none of its series doesn't tell them apart, and is not asked for.

        Raises:
            ValueError: `metrics` or `prefixes` is empty, or a name isn't one.
        """
        if not metrics or not prefixes:
            raise ValueError(
                'metrics and prefixes are empty: name at least one metric, and "" where nothing is before it'
            )
        # One finder each: the text is searched for the second metric only where the first isn't.
        self._metrics = [(_finder(metric.name, prefixes), metric.unit) for metric in metrics]
        self._sleep_states = _finder(_SLEEP_STATE, prefixes)
        self._select = dict(select or {})

    def read(self, text: bytes, content_type: str = "") -> ServingLoad:
        """Tell the load. Never raises for what the text is.

        Series are never added: they are ranks, or copies of one rank that its processes show, and the greatest counts. A copy
        that a dead process left behind keeps its value for good, and counts as well: no text tells it from a live one.

        Args:
            text: The whole text.
            content_type: What it is said to be; "" when nothing is said.
        """
        try:
            return self._read(text, content_type)
        except ExpositionError as error:
            return ServingLoad(None, _OF_PROBLEM[error.problem], detail=str(error))

    def _read(self, text: bytes, content_type: str) -> ServingLoad:
        if self._sleeps(self._sleep_states.find(text, content_type)):
            return ServingLoad(None, ServingLoadReason.SLEEPING, _SLEEP_STATE)
        elsewhere = None
        for finder, unit in self._metrics:
            series = finder.find(text, content_type)
            if chosen := self._chosen(series):
                return _load(chosen, unit)
            elsewhere = elsewhere or next((each.name for each in series), None)
        if elsewhere is None:
            return ServingLoad(None, ServingLoadReason.NO_METRIC)
        selected = ", ".join(f"{label}={text!r}" for label, text in self._select.items())
        return ServingLoad(None, ServingLoadReason.NO_SUCH_RANK, elsewhere, detail=f"no series has {selected}")

    def _sleeps(self, states: list[Series]) -> bool:
        """Tell whether the engine says that it isn't awake; of its processes' copies, only one may know that it is."""
        of_rank = self._chosen(states)
        awake = [series.value for series in of_rank if series.labels.get("sleep_state") == "awake"]
        if not awake:
            # A text that was filtered on its way may have kept only the state that holds.
            return any(series.value > 0 and series.labels.get("sleep_state") for series in of_rank)
        return all(value == 0 for value in awake)

    def _chosen(self, series: list[Series]) -> list[Series]:
        for label, text in self._select.items():
            if any(each.labels.get(label) for each in series):
                series = [each for each in series if each.labels.get(label, "") == text]
        return series


def _finder(name: str, prefixes: Iterable[str]) -> SeriesFinder:
    return SeriesFinder([prefix + name for prefix in prefixes])


def _load(chosen: Sequence[Series], unit: LoadUnit) -> ServingLoad:
    whole = 100.0 if unit is LoadUnit.PERCENT else 1.0
    name = chosen[0].name
    # NaN is on neither side.
    above = [series.value for series in chosen if series.value > whole]
    known = [series.value / whole for series in chosen if 0 <= series.value <= whole]
    if above:
        detail = f"{max(above):g} is more than {whole:g}"
        return ServingLoad(None, ServingLoadReason.OUT_OF_RANGE, name, detail=detail)
    if not known:
        return ServingLoad(None, ServingLoadReason.NOT_KNOWN, name, ignored=len(chosen))
    # The sum turns -0.0 into 0.0.
    load, ignored = max(known) + 0.0, len(chosen) - len(known)
    if ignored and load < LOOKS_IDLE_BELOW:
        detail = f"at least {load:g}, and {ignored} of {len(chosen)} series are not known"
        return ServingLoad(None, ServingLoadReason.NOT_KNOWN, name, len(known), ignored, detail)
    return ServingLoad(load, None, name, len(known), ignored)
