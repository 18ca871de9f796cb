from collections.abc import Iterator
from contextlib import contextmanager

@contextmanager
def ended_by_sigterm() -> Iterator[None]: ...
