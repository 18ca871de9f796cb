"""A class directory in a temporary directory, with the files that a test writes into it, and a clock that a test turns."""

from collections.abc import Mapping
from pathlib import Path


class ManualClock:
    """Seconds that stand still until a test moves them."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


class NicTree:
    """Writes devices, ports and their files as the kernel shows them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, device: str, files: Mapping[str, str | int], *, port: int = 1) -> None:
        """Write files of a port; in place, as a file of sysfs is never replaced."""
        directory = self.root / device / "ports" / str(port)
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = directory / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{text}\n" if isinstance(text, int) else text)

    def port(self, device: str, files: Mapping[str, str | int] | None = None, *, port: int = 1) -> None:
        """Write a port of 400 Gb/s that is up, and more files."""
        up: dict[str, str | int] = {
            "state": "4: ACTIVE\n",
            "phys_state": "5: LinkUp\n",
            "link_layer": "InfiniBand\n",
            "rate": "400 Gb/sec (4X NDR)\n",
        }
        self.write(device, {**up, **(files or {})}, port=port)
