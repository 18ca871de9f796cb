"""Asks a load provider on a thread of its own, so that nobody waits for it."""

import logging
import threading
from collections.abc import Callable

from p2p_registry.errors import SettingError
from p2p_registry.publishing import LoadReading, checked_load

_log = logging.getLogger(__name__)


class LoadThread:
    """Keeps a provider's last reading; at most one call of the provider runs at a time.

    The thread is a daemon: a provider that hangs keeps no process from ending.

    Attributes:
        reading: The last reading, None before the first call ended. One that failed replaces an earlier one.
    """

    def __init__(self, provider: Callable[[], float | None], monotonic: Callable[[], float]) -> None:
        """Prepare; the thread starts with the first request.

        Raises:
            SettingError: The provider can't be called.
        """
        if not callable(provider):
            raise SettingError("provider", repr(provider), "is not allowed: a function without arguments is")
        self.reading: LoadReading | None = None
        self._provider = provider
        self._monotonic = monotonic
        self._asked = threading.Event()
        self._closed = False
        self._fault = ""
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Have the provider called, after the call that may be running."""
        self._asked.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="p2p-registry-load", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread as soon as the provider returns; don't wait for it."""
        self._closed = True
        self._asked.set()

    def _run(self) -> None:
        while self._asked.wait() and not self._closed:
            self._asked.clear()
            asked_at = self._monotonic()
            self.reading = LoadReading(self._load(), asked_at)

    def _load(self) -> float | None:
        try:
            load = checked_load(self._provider())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a provider is somebody else's, and may raise anything
            fault = f"{type(error).__name__}: {error}"
            if fault != self._fault:
                _log.warning("the load is unknown, its provider failed: %s", fault)
            self._fault = fault
            return None
        self._fault = ""
        return load
