"""What the commands have in common: choosing a source, and running until told to stop."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.sources import SglangHttpSource, SglangShmSource, SyntheticSource

SourceName = Literal["sglang-shm", "sglang-http", "synthetic"]


def make_source(
    name: SourceName,
    *,
    shm_path: Path | None,
    dp_size: int | None,
    engine_url: str | None,
    api_key_file: Path | None,
) -> LoadSnapshotSource:
    """Return the source that the flags describe.

    Raises:
        ConfigError: A flag is missing, out of range, or belongs to another source.
    """
    for flag, value, owner in (
        ("--shm-path", shm_path, "sglang-shm"),
        ("--engine-url", engine_url, "sglang-http"),
        ("--api-key-file", api_key_file, "sglang-http"),
    ):
        if value is not None and name != owner:
            raise ConfigError(
                f"{flag} belongs to --source {owner}, not to --source {name}: leave it out, or change the source"
            )
    if name == "sglang-shm":
        return SglangShmSource(shm_path, dp_size=dp_size)
    if name == "sglang-http":
        return make_http_source(engine_url, api_key_file, dp_size=dp_size)
    return SyntheticSource(1 if dp_size is None else dp_size)


def make_http_source(engine_url: str | None, api_key_file: Path | None, *, dp_size: int | None) -> SglangHttpSource:
    """Return the source that asks the engine at `engine_url`.

    Raises:
        ConfigError: The address is missing or none, or the file holds no key.
    """
    if engine_url is None:
        raise ConfigError(
            "--source sglang-http needs --engine-url: the engine's address, such as http://127.0.0.1:30000"
        )
    api_key = None if api_key_file is None else _read_key(api_key_file)
    return SglangHttpSource(engine_url, api_key=api_key, dp_size=dp_size)


def _read_key(path: Path) -> str:
    try:
        key = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't text"
        raise ConfigError(f"--api-key-file {path} can't be read: {reason}") from None
    if not key:
        raise ConfigError(f"--api-key-file {path} is empty: leave it out for an engine without a key")
    return key


@asynccontextmanager
async def closing(source: LoadSnapshotSource | None) -> AsyncIterator[None]:
    """Close the source afterwards, if it is one that holds a connection."""
    try:
        yield
    finally:
        if isinstance(source, SglangHttpSource):
            await source.aclose()


@asynccontextmanager
async def stop_signals() -> AsyncIterator["asyncio.Future[int]"]:
    """Yield a future that SIGTERM and SIGINT complete with the exit code that belongs to them, 0 and 130."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    codes = {signal.SIGTERM: 0, signal.SIGINT: 130}
    for number, code in codes.items():
        loop.add_signal_handler(number, stop, code)
    try:
        yield stopped
    finally:
        for number in codes:
            loop.remove_signal_handler(number)
