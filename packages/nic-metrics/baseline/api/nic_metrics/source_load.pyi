from collections.abc import Mapping
from nic_metrics.blend import Blend as Blend, greatest as greatest
from nic_metrics.errors import MetricsUrlError as MetricsUrlError
from nic_metrics.interfaces import Signal as Signal
from nic_metrics.provider import SourceLoadProvider as SourceLoadProvider
from nic_metrics.scraper import ServingLoadScraper as ServingLoadScraper
from nic_metrics.serving_load import ServingLoadReader as ServingLoadReader
from nic_metrics.signals import SignalReason as SignalReason, UnknownSignal as UnknownSignal

METRICS_URL_VARIABLE: str

def make_source_load_provider(nic: Signal | None = None, *, metrics_url: str | None = None, environ: Mapping[str, str] | None = None, reader: ServingLoadReader | None = None, scrape_interval_seconds: float = 10.0, blend: Blend = ..., max_age_seconds: float = 60.0, smoothing_seconds: float = 0.0, hold_seconds: float = 0.0, unknown_load: float | None = None) -> SourceLoadProvider: ...
