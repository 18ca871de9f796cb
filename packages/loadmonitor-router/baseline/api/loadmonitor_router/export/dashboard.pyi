from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.export import metrics as metrics
from loadmonitor_router.export._promql import selector as selector
from loadmonitor_router.export.metrics import Family as Family, Unit as Unit
from typing import Any

UID: str

def dashboard() -> dict[str, Any]: ...
