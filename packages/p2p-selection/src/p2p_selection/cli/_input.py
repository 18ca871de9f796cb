"""What the commands read: a list of sources, as `p2p-registry list --json` prints it, and the policy to rank them by."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from p2p_selection._checks import checked_weight
from p2p_selection.config import SelectionConfig
from p2p_selection.errors import SelectionError
from p2p_selection.interfaces import SourceSelector
from p2p_selection.registry import get_selector, selector_names


class InputError(SelectionError):
    """A flag or a file can't be used; the message names it."""


def read_sources(file: Path, model_name: str | None) -> list[object]:
    """Return the sources of a file of JSON lines, or of standard input for `-`; none of another model.

    Raises:
        InputError: The file can't be read, or a line is no JSON object.
    """
    if str(file).startswith("--"):
        raise InputError(f"Unknown option: {file}.")
    sources: list[object] = []
    others = 0
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:  # the second by a thousand brackets
            raise InputError(f"line {number} of {file} is not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise InputError(f"line {number} of {file} is not a JSON object: {line.strip()[:80]}")
        if model_name is not None and fields.get("model_name", model_name) != model_name:
            others += 1
            continue
        sources.append(_entry(fields))
    if others:
        sys.stderr.write(f"p2p-selection: {others} sources of other models than {model_name} are left out\n")
    return sources


def _lines(file: Path) -> Iterator[str]:
    try:
        if str(file) == "-":
            yield from sys.stdin
        else:
            with file.open() as lines:
                yield from lines
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't text"
        raise InputError(f"{file} can't be read: {reason}") from None


def _entry(fields: dict[str, object]) -> object:
    # Protobuf's own JSON writes 64-bit integers as texts.
    for name in ("updated_at", "updated_at_ms"):
        value = fields.get(name)
        if isinstance(value, str) and value.isdecimal():
            fields[name] = int(value)
    return SimpleNamespace(**fields)


def make_policy(policy: str | None, load_weight: float | None) -> tuple[SourceSelector, SelectionConfig]:
    """Return the policy that flags and environment describe, and the settings it was made from.

    Raises:
        InputError: There is no such policy.
        SettingError: The weight is out of range.
    """
    config = SelectionConfig.from_env(os.environ)
    if policy is not None:
        config = replace(config, policy=policy)
    if load_weight is not None:
        weight = checked_weight(load_weight)
        config = replace(config, load_weight=weight, topology_load_weight=weight)
    if config.policy.strip().casefold() not in selector_names():
        origin = "MX_P2P_SOURCE_SELECTOR" if policy is None else "--policy"
        raise InputError(f"{origin} {config.policy} is not a policy: {', '.join(selector_names())} are")
    return get_selector(config=config), config
