"""What the tests of this package share."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Iterator

import pytest

from loadmonitor_router.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()
