import os
from collections.abc import Collection
from dataclasses import dataclass
from nic_metrics.errors import NicMetricsError
from pathlib import Path

__all__ = ['CaptureError', 'Capture', 'capture_tree']

class CaptureError(NicMetricsError): ...

@dataclass(frozen=True, slots=True)
class Capture:
    directory: Path
    devices: tuple[str, ...]
    gpus: int
    files: int
    replaced: int
    unreadable: tuple[tuple[str, str], ...]

def capture_tree(directory: str | os.PathLike[str], *, sys_root: str | os.PathLike[str] = '/sys', devices: Collection[str] | None = None) -> Capture: ...

class _Copy:
    def __init__(self, root: Path, target: Path) -> None: ...
    def all(self, devices: Collection[str] | None) -> Capture: ...
