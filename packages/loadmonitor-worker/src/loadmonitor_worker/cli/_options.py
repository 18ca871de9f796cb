"""What the commands have in common: choosing a source, and running until told to stop."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.sources import (
    MetricsSource,
    SglangHttpSource,
    SglangShmSource,
    SyntheticSource,
    shipped_mappings,
)

SourceName = Literal["sglang-shm", "sglang-http", "vllm-metrics", "sglang-metrics", "mapping", "synthetic"]
_METRICS = ("vllm-metrics", "sglang-metrics", "mapping")
_MAPPINGS = {"vllm-metrics": "vllm", "sglang-metrics": "sglang"}


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsFlags:
    """What the sources that read an engine's metrics take besides its address.

    Args:
        mapping: With --source mapping: a TOML file, or one of llamacpp, lmdeploy, sglang, tgi, trtllm, vllm.
        max_running_requests: Most requests that run at once in each rank; vLLM's --max-num-seqs.
        max_total_num_tokens: KV capacity of each rank in tokens, where the engine doesn't tell it.
        first_dp_rank: Lowest rank of this engine, where it serves a part of a larger set.
        metrics_prefix: What stands before each metric's name, such as ray_.
        select: LABEL=VALUE that series must have, to choose one engine out of several; may be repeated.
    """

    mapping: str | None = None
    max_running_requests: int | None = None
    max_total_num_tokens: int | None = None
    first_dp_rank: int = 0
    metrics_prefix: str = ""
    select: Annotated[list[str] | None, Parameter(negative="")] = None

    def source(self, name: SourceName, engine_url: str, *, api_key: str | None, dp_size: int | None) -> MetricsSource:
        """Return the source.

        Raises:
            ConfigError: A flag is missing, out of range, or belongs to another source.
        """
        mapping = _MAPPINGS.get(name, self.mapping)
        if mapping is None:
            raise ConfigError(
                f"--source mapping needs --mapping: a TOML file, or one of {', '.join(shipped_mappings())}"
            )
        pairs = [text.partition("=") for text in self.select or ()]
        if wrong := [
            text for text, (label, sign, _) in zip(self.select or (), pairs, strict=True) if not (label and sign)
        ]:
            raise ConfigError(f"--select {wrong[0]} is not allowed: LABEL=VALUE is")
        return MetricsSource(
            mapping,
            engine_url,
            api_key=api_key,
            dp_size=dp_size,
            first_dp_rank=self.first_dp_rank,
            max_running_requests=self.max_running_requests,
            max_total_num_tokens=self.max_total_num_tokens,
            prefix=self.metrics_prefix,
            select={label: value for label, _, value in pairs},
        )


NO_METRICS_FLAGS = MetricsFlags()


def make_source(
    name: SourceName,
    *,
    shm_path: Path | None,
    dp_size: int | None,
    engine_url: str | None,
    api_key_file: Path | None,
    metrics: MetricsFlags = NO_METRICS_FLAGS,
) -> LoadSnapshotSource:
    """Return the source that the flags describe.

    Raises:
        ConfigError: A flag is missing, out of range, or belongs to another source.
    """
    http = ("sglang-http", *_METRICS)
    for flag, value, owners in (
        ("--shm-path", shm_path, ("sglang-shm",)),
        ("--engine-url", engine_url, http),
        ("--api-key-file", api_key_file, http),
        *(
            (f"--{key.replace('_', '-')}", value or None, ("mapping",) if key == "mapping" else _METRICS)
            for key, value in asdict(metrics).items()
        ),
    ):
        if value is not None and name not in owners:
            raise ConfigError(
                f"{flag} belongs to --source {' or '.join(owners)}, not to --source {name}: leave it out, or change the source"
            )
    if name == "sglang-shm":
        return SglangShmSource(shm_path, dp_size=dp_size)
    if name == "sglang-http":
        return make_http_source(engine_url, api_key_file, dp_size=dp_size)
    if name != "synthetic":
        return metrics.source(name, _needed(name, engine_url), api_key=_read_key(api_key_file), dp_size=dp_size)
    return SyntheticSource(1 if dp_size is None else dp_size)


def make_http_source(engine_url: str | None, api_key_file: Path | None, *, dp_size: int | None) -> SglangHttpSource:
    """Return the source that asks the engine at `engine_url`.

    Raises:
        ConfigError: The address is missing or none, or the file holds no key.
    """
    return SglangHttpSource(_needed("sglang-http", engine_url), api_key=_read_key(api_key_file), dp_size=dp_size)


def _needed(name: SourceName, engine_url: str | None) -> str:
    if engine_url is None:
        raise ConfigError(f"--source {name} needs --engine-url: the engine's address, such as http://127.0.0.1:30000")
    return engine_url


def _read_key(path: Path | None) -> str | None:
    if path is None:
        return None
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
        if isinstance(source, SglangHttpSource | MetricsSource):
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
