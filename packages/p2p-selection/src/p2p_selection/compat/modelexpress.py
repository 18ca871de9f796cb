"""The policies inside an installed modelexpress, which ranks sources by the one that MX_P2P_SOURCE_SELECTOR names.

    from p2p_selection.compat import modelexpress

    modelexpress.register()  # before the engine loads weights

Checked against modelexpress 0.7.0.
"""

import logging
import os
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Any

from p2p_selection.adapting import candidate_from
from p2p_selection.candidates import Candidate, Target
from p2p_selection.config import SelectionConfig
from p2p_selection.errors import MalformedCandidateError, SettingError
from p2p_selection.interfaces import SourceSelector
from p2p_selection.registry import get_selector, selector_names

_log = logging.getLogger(__name__)


class PluggedSelector:
    """A policy as modelexpress calls it: `order(candidates, ctx)`.

    Args:
        selector: The policy.
        config: Settings, of which the target's topology is used.

    Attributes:
        name: The policy's name.
    """

    def __init__(self, selector: SourceSelector, config: SelectionConfig) -> None:
        self._selector = selector
        self._topology = config.topology
        self.name: str = selector.name

    def order(self, candidates: Sequence[Any], ctx: Any) -> list[Any]:
        """Return the same candidates in a new list, best first; one that can't be read comes last.

        Args:
            candidates: Those of modelexpress, each a `SourceInstanceRef`.
            ctx: Its `LoadContext`: the model's name, the worker's id and the worker's rank are read.
        """
        read: list[Candidate] = []
        entries: dict[int, Any] = {}
        unreadable = []
        for entry in candidates:
            try:
                candidate = _read(entry)
            except MalformedCandidateError as error:
                _log.warning("a source is ranked last: %s", error)
                unreadable.append(entry)
                continue
            read.append(candidate)
            entries[id(candidate)] = entry
        target = Target(ctx.identity.model_name, ctx.worker_id, ctx.worker_rank, topology=self._topology)
        return [*(entries[id(candidate)] for candidate in self._selector.order(read, target)), *unreadable]


def register(names: Collection[str] | None = None) -> tuple[str, ...]:
    """Make policies known to the installed modelexpress, in the place of its own of the same name; return their names.

    Each selection reads the settings anew from the environment, as modelexpress does with its own policies.

    Args:
        names: The policies; by default all.

    Raises:
        ModuleNotFoundError: modelexpress, or something it needs, isn't installed.
        SettingError: A name is not a policy.
    """
    known = selector_names()
    wanted = tuple(known if names is None else names)
    for name in wanted:
        if name not in known:
            raise SettingError("names", name, f"any of {', '.join(known)}")
    theirs = import_module("modelexpress.source_selection")
    for name in wanted:
        theirs.register_selector(name, _factory(name))
    return wanted


def _read(entry: Any) -> Candidate:
    """Read only what policies use, as protobuf has checked the rest and thousands of sources may be listed."""
    try:
        known = entry.HasField("source_load")
        load = entry.source_load if known else None
        return Candidate(entry.mx_source_id, entry.worker_id, entry.worker_rank, load, entry.topology)
    except (AttributeError, ValueError, TypeError):  # no message, or one of a release without a field
        return candidate_from(entry)


def _factory(name: str) -> Callable[[], PluggedSelector]:
    """Return what makes a policy. modelexpress makes one for each selection, so the last is kept, and with it its digests."""
    made: list[tuple[SelectionConfig, PluggedSelector]] = []

    def make() -> PluggedSelector:
        config = SelectionConfig.from_env(os.environ)
        if not made or made[0][0] != config:
            made[:] = [(config, PluggedSelector(get_selector(name, config), config))]
        return made[0][1]

    return make
