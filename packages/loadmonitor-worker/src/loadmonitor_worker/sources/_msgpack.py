"""The one place that asks for msgspec, so that a worker without the extra [sglang] never imports it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from loadmonitor_worker.errors import MissingExtraError


def msgpack_function(name: str, feature: str) -> Callable[[Any], Any]:
    """Return the function `name` of msgspec's MessagePack module, on behalf of `feature`.

    Raises:
        MissingExtraError: msgspec isn't installed.
    """
    try:
        module = import_module("msgspec.msgpack")
    except ImportError as error:
        raise MissingExtraError(feature, "sglang") from error
    function: Callable[[Any], Any] = getattr(module, name)
    return function
