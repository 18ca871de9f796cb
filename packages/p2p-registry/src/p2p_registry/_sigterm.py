"""SIGTERM with something to do first; whatever handled it before still does."""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType


class SigtermChain:
    """Does something at the first SIGTERM, then hands the signal to the handler that was there before.

    A second SIGTERM is handed on at once. Several chains may be installed one over the other and removed in any order. In a forked
    child nothing is done first: what the handler belongs to lives in the parent.
    """

    def __init__(self, first: Callable[[Callable[[], None]], None]) -> None:
        """Prepare.

        Args:
            first: Runs as the signal handler and gets a function, which it calls when it is done, at once or later: that hands the
                signal on.
        """
        self._first = first
        self._earlier: Callable[[int, FrameType | None], object] | int | signal.Handlers | None = None
        self._installed_in: int | None = None
        self._begun = False
        self._handed_on = False

    def install(self) -> bool:
        """Install the handler and tell whether that was possible.

        It isn't outside of the main thread, where SIGTERM is ignored, and where its handler isn't one of Python's, which couldn't be
        called.
        """
        earlier = signal.getsignal(signal.SIGTERM)
        if threading.current_thread() is not threading.main_thread() or earlier is None or earlier == signal.SIG_IGN:
            return False
        self._earlier = earlier
        self._installed_in = os.getpid()
        signal.signal(signal.SIGTERM, self._handle)
        return True

    def remove(self) -> None:
        """Do nothing first from now on; put the earlier handler back where no later one stands over this one."""
        self._installed_in = None
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGTERM) == self._handle:
            signal.signal(signal.SIGTERM, self._earlier)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del number
        if self._begun or self._installed_in != os.getpid():
            self._hand_on(frame)
            return
        self._begun = True

        def done() -> None:
            if not self._handed_on:
                self._hand_on(None)

        self._first(done)

    def _hand_on(self, frame: FrameType | None) -> None:
        self._handed_on = True
        self.remove()
        if callable(self._earlier):
            self._earlier(signal.SIGTERM, frame)
            return
        # The process ends by the signal, as its parent would see it without this handler.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
