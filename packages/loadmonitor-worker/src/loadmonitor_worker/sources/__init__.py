"""Where the load of an engine can be read: sources for the reporter.

Choose CallableSource for a function of your own, ManagerSource inside SGLang, SglangShmSource beside an unmodified SGLang,
SglangHttpSource where its shared memory can't be read or isn't kept, MetricsSource for vLLM and every other engine that has
Prometheus metrics, SyntheticSource without an engine.
"""

from loadmonitor_worker.sources._http_answer import HttpReason
from loadmonitor_worker.sources._prom_text import MetricsReason
from loadmonitor_worker.sources._shm_discovery import ShmCandidate, ShmVerdict, inspect_candidates
from loadmonitor_worker.sources._shm_layout import ShmReason
from loadmonitor_worker.sources._shm_writer import SglangShmWriter
from loadmonitor_worker.sources.callable import CallableSource
from loadmonitor_worker.sources.manager import ManagerSource
from loadmonitor_worker.sources.metrics import MetricsSource
from loadmonitor_worker.sources.metrics_mapping import MetricsMapping, shipped_mappings
from loadmonitor_worker.sources.sglang_http import SglangHttpSource
from loadmonitor_worker.sources.sglang_shm import SglangShmSource
from loadmonitor_worker.sources.synthetic import SyntheticSource

__all__ = [
    "CallableSource",
    "HttpReason",
    "ManagerSource",
    "MetricsMapping",
    "MetricsReason",
    "MetricsSource",
    "SglangHttpSource",
    "SglangShmSource",
    "SglangShmWriter",
    "ShmCandidate",
    "ShmReason",
    "ShmVerdict",
    "SyntheticSource",
    "inspect_candidates",
    "shipped_mappings",
]
