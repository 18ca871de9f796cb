"""Settings of source selection, from code or from the environment variables that modelexpress has."""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from p2p_selection.candidates import UNKNOWN_LOAD
from p2p_selection.digests import KeyVersion
from p2p_selection.policies import DEFAULT_LEVELS

_log = logging.getLogger(__name__)

_TRUE: Final = ("1", "true", "yes", "on")
_FALSE: Final = ("0", "false", "no", "off", "")
_TOPOLOGY_DIRECTORY: Final = "/etc/dynamo/topology"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionConfig:
    """Settings of source selection; those with a variable are read by `from_env`.

    Attributes:
        policy: The policy's name (MX_P2P_SOURCE_SELECTOR).
        load_weight: Weight of `load_aware` and `spread`, 0 or above (MX_P2P_LOAD_WEIGHT).
        topology_load_weight: Weight of load in `topology_aware`, 0 or above (MX_P2P_TOPOLOGY_LOAD_WEIGHT; where that isn't
            set, MX_P2P_LOAD_WEIGHT when that is).
        topology_levels: Levels from broad to narrow (MX_P2P_TOPOLOGY_LEVELS, separated by commas).
        topology: Where this process is, by level (MX_P2P_TOPOLOGY, a JSON object; where that isn't set, the files of the
            directory DYN_TOPOLOGY_MOUNT_PATH).
        unknown_load: What an unknown load counts as, 0 to 1.
        key_version: The form of the key that is hashed; version 1 is that of modelexpress 0.7.0.
        seed: Makes the orders of `random` repeatable, or None.
        metrics_enabled: Metrics are wanted (MX_METRICS_ENABLED).
        metrics_scheme: Value of the metrics' label `scheme`, which tells deployments apart (MX_METRICS_SCHEME).
        metrics_source_id_label: Metrics tell sources apart, with a series each (MX_METRICS_SOURCE_ID_LABEL).
    """

    policy: str = "random"
    load_weight: float = 1.0
    topology_load_weight: float = 0.0
    topology_levels: tuple[str, ...] = DEFAULT_LEVELS
    topology: Mapping[str, str] = field(default_factory=dict)
    unknown_load: float = UNKNOWN_LOAD
    key_version: KeyVersion = 1
    seed: int | None = None
    metrics_enabled: bool = False
    metrics_scheme: str = ""
    metrics_source_id_label: bool = False

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "SelectionConfig":
        """Read the settings that have a variable; the others keep their defaults.

        A puller must start whatever its environment holds, so a value that can't be used is logged as a warning that names
        the variable, and the default stands: a weight that isn't a finite number, a topology that isn't a JSON object, or a
        word that turns metrics neither on nor off. A negative weight is 0, as in modelexpress.

        Args:
            environ: The process's environment; pass `os.environ`.
        """
        load_weight = _weight(environ, "MX_P2P_LOAD_WEIGHT", default=1.0)
        levels = [level.strip() for level in environ.get("MX_P2P_TOPOLOGY_LEVELS", "").split(",")]
        return cls(
            policy=environ.get("MX_P2P_SOURCE_SELECTOR", "").strip().casefold() or "random",
            load_weight=load_weight,
            topology_load_weight=_topology_weight(environ, load_weight),
            topology_levels=tuple(filter(None, levels)) or DEFAULT_LEVELS,
            topology=_topology(environ),
            metrics_enabled=_flag(environ, "MX_METRICS_ENABLED"),
            metrics_scheme=environ.get("MX_METRICS_SCHEME", ""),
            metrics_source_id_label=_flag(environ, "MX_METRICS_SOURCE_ID_LABEL"),
        )


def _weight(environ: Mapping[str, str], variable: str, *, default: float) -> float:
    text = environ.get(variable)
    if text is None:
        return default
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        _log.warning("%s=%r is not a finite number: %s is used", variable, text, default)
        return default
    return max(0.0, weight)


def _topology_weight(environ: Mapping[str, str], load_weight: float) -> float:
    # Only a variable that is set counts: the other policy's default must not switch this one's load on.
    if "MX_P2P_TOPOLOGY_LOAD_WEIGHT" in environ:
        return _weight(environ, "MX_P2P_TOPOLOGY_LOAD_WEIGHT", default=0.0)
    return load_weight if "MX_P2P_LOAD_WEIGHT" in environ else 0.0


def _topology(environ: Mapping[str, str]) -> Mapping[str, str]:
    import json  # noqa: PLC0415 - whoever doesn't read the environment doesn't pay for either

    text = environ.get("MX_P2P_TOPOLOGY", "").strip()
    if not text:
        return _mounted_topology(environ.get("DYN_TOPOLOGY_MOUNT_PATH") or _TOPOLOGY_DIRECTORY)
    try:
        levels = json.loads(text)
    except (ValueError, RecursionError):  # the second by a thousand brackets
        levels = None
    if not isinstance(levels, dict):
        _log.warning(
            'MX_P2P_TOPOLOGY=%r is not a JSON object such as {"zone": "a", "rack": "7"}: no place is known', text
        )
        return {}
    return {level: str(place) for level, place in levels.items() if place is not None}


def _mounted_topology(directory: str) -> Mapping[str, str]:
    """Read a level from each file, named by the file, as Dynamo mounts them; a directory that isn't there tells none."""
    from pathlib import Path  # noqa: PLC0415 - takes as long to import as the rest of the package

    try:
        files = [file for file in Path(directory).iterdir() if not file.name.startswith(".") and file.is_file()]
        places = {file.name: file.read_text().strip() for file in files}
    except (OSError, UnicodeDecodeError):
        return {}
    return {level: place for level, place in places.items() if place}


def _flag(environ: Mapping[str, str], variable: str) -> bool:
    text = environ.get(variable, "")
    word = text.strip().casefold()
    if word not in (*_TRUE, *_FALSE):
        _log.warning("%s=%r is none of %s: it is off", variable, text, ", ".join(filter(None, (*_TRUE, *_FALSE))))
    return word in _TRUE
