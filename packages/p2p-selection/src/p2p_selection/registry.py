"""Policies by name, one's own among them."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from p2p_selection.config import SelectionConfig
from p2p_selection.digests import DigestCache
from p2p_selection.interfaces import SourceSelector
from p2p_selection.policies import BoundedLoad, LoadAware, RandomOrder, RendezvousHash, Spread, TopologyAware

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SelectorFactory = Callable[[SelectionConfig], SourceSelector]

ENTRY_POINTS: Final = "p2p_selection.selectors"
"""Group of entry points that other distributions add policies with: the name, and a `SelectorFactory`."""

_log = logging.getLogger(__name__)
_warned: set[str] = set()


def _digests(config: SelectionConfig) -> DigestCache:
    return DigestCache(key_version=config.key_version)


def _topology_aware(config: SelectionConfig) -> SourceSelector:
    return TopologyAware(
        levels=config.topology_levels,
        weight=config.topology_load_weight,
        unknown_load=config.unknown_load,
        digests=_digests(config),
    )


_factories: dict[str, SelectorFactory] = {
    "random": lambda config: RandomOrder(seed=config.seed),
    "rendezvous_hash": lambda config: RendezvousHash(digests=_digests(config)),
    "load_aware": lambda config: LoadAware(
        weight=config.load_weight, unknown_load=config.unknown_load, digests=_digests(config)
    ),
    "topology_aware": _topology_aware,
    "spread": lambda config: Spread(
        weight=config.load_weight, unknown_load=config.unknown_load, digests=_digests(config)
    ),
    "bounded_load": lambda config: BoundedLoad(unknown_load=config.unknown_load, digests=_digests(config)),
}


def register_selector(name: str, factory: SelectorFactory) -> None:
    """Make a policy known by a name; a name that is taken is taken over.

    Args:
        name: Its name in configuration; case and blanks around it don't count.
        factory: Makes a selector from the settings.
    """
    _factories[_normal(name)] = factory


def selector_names() -> tuple[str, ...]:
    """Return the names of all policies, those of entry points included, in alphabetical order."""
    return tuple(sorted({*_factories, *_points()}))


def get_selector(name: str | None = None, config: SelectionConfig | None = None) -> SourceSelector:
    """Return a new selector. Keep it: it remembers digests, which makes the next order of the same sources cheaper.

    A puller must find a source whatever its settings say, so an unknown name, or a factory that raises or returns no policy,
    gives `random`, with one warning that names the variable and the choices.

    Args:
        name: The policy's name; by default the configuration's.
        config: The settings; by default those of the code.
    """
    config = SelectionConfig() if config is None else config
    wanted = _normal(config.policy if name is None else name)
    try:
        factory = _find(wanted)
        made: object = None if factory is None else factory(config)
        if isinstance(made, SourceSelector):
            return made
        trouble = "is not a policy" if factory is None else f"can't be made: its factory returned {made!r}"
    except Exception as error:  # noqa: BLE001 - a policy of somebody else's may raise anything
        trouble = f"can't be made: {type(error).__name__}: {error}"
        _log.debug("policy %s can't be made", wanted, exc_info=error)
    if wanted not in _warned:
        _warned.add(wanted)
        _log.warning(
            "MX_P2P_SOURCE_SELECTOR: %r %s, so sources are ranked by random; the policies are %s",
            wanted,
            trouble,
            ", ".join(selector_names()),
        )
    return RandomOrder(seed=config.seed)


def _find(name: str) -> SelectorFactory | None:
    if name in _factories:
        return _factories[name]
    point = _points().get(name)
    if point is None:
        return None
    factory: SelectorFactory = point.load()
    return factory


def _points() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer than all else here, and few need it

    return {_normal(point.name): point for point in entry_points(group=ENTRY_POINTS)}


def _normal(name: str) -> str:
    return name.strip().casefold()
