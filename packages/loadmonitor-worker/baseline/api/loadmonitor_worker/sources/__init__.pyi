from loadmonitor_worker.sources._http_answer import HttpReason as HttpReason
from loadmonitor_worker.sources._prom_text import MetricsReason as MetricsReason
from loadmonitor_worker.sources._shm_discovery import ShmCandidate as ShmCandidate, ShmVerdict as ShmVerdict, inspect_candidates as inspect_candidates
from loadmonitor_worker.sources._shm_layout import ShmReason as ShmReason
from loadmonitor_worker.sources._shm_writer import SglangShmWriter as SglangShmWriter
from loadmonitor_worker.sources.callable import CallableSource as CallableSource
from loadmonitor_worker.sources.manager import ManagerSource as ManagerSource
from loadmonitor_worker.sources.metrics import MetricsSource as MetricsSource
from loadmonitor_worker.sources.metrics_mapping import MetricsMapping as MetricsMapping, shipped_mappings as shipped_mappings
from loadmonitor_worker.sources.sglang_http import SglangHttpSource as SglangHttpSource
from loadmonitor_worker.sources.sglang_shm import SglangShmSource as SglangShmSource
from loadmonitor_worker.sources.synthetic import SyntheticSource as SyntheticSource

__all__ = ['HttpReason', 'MetricsReason', 'ShmCandidate', 'ShmVerdict', 'inspect_candidates', 'ShmReason', 'SglangShmWriter', 'CallableSource', 'ManagerSource', 'MetricsSource', 'MetricsMapping', 'shipped_mappings', 'SglangHttpSource', 'SglangShmSource', 'SyntheticSource']
