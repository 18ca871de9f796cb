"""What the commands have in common: choosing a source, and running until told to stop."""

import asyncio
import signal
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from loadmonitor_worker.cli._settings import SidecarConfig
from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.interfaces import LoadSnapshotSource
from loadmonitor_worker.settings import LoadedSettings
from loadmonitor_worker.sources import (
    MetricsSource,
    SglangHttpSource,
    SglangShmSource,
    SyntheticSource,
    shipped_mappings,
)

_METRICS = {"vllm-metrics": "vllm", "sglang-metrics": "sglang", "mapping": None}
"""The sources that read metrics, and the mapping that comes with each."""
_HTTP = ("sglang-http", *_METRICS)
_OWNERS = {"shm_path": ("sglang-shm",), "engine_url": _HTTP, "api_key_file": _HTTP, "mapping": ("mapping",)}
_OWNERS |= dict.fromkeys(
    ("max_running_requests", "max_total_num_tokens", "first_dp_rank", "metrics_prefix", "select"), tuple(_METRICS)
)


def make_source(loaded: LoadedSettings[SidecarConfig], *, unless: Collection[str] = ()) -> LoadSnapshotSource:
    """Return the source that the settings describe.

    Args:
        loaded: The settings.
        unless: Settings that may be there though they belong to another source.

    Raises:
        ConfigError: A setting is missing, out of range, or belongs to another source.
    """
    refuse_foreign_settings(loaded, unless=unless)
    config = loaded.config
    if config.source == "sglang-shm":
        return SglangShmSource(config.shm_path, dp_size=config.dp_size)
    if config.source == "sglang-http":
        return make_http_source(config, dp_size=config.dp_size)
    if config.source == "synthetic":
        return SyntheticSource(1 if config.dp_size is None else config.dp_size)
    return _make_metrics_source(config)


def refuse_foreign_settings(loaded: LoadedSettings[SidecarConfig], *, unless: Collection[str] = ()) -> None:
    """Raise ConfigError for a setting that belongs to another source than the one chosen; see `make_source`."""
    source = loaded.config.source
    for setting, owners in _OWNERS.items():
        if source not in owners and setting not in unless and loaded.origins[setting].kind != "default":
            raise ConfigError(
                f"{loaded.origins[setting]} belongs to --source {' or '.join(owners)}, not to --source {source}: "
                "leave it out, or change the source"
            )


def make_http_source(config: SidecarConfig, *, dp_size: int | None) -> SglangHttpSource:
    """Return the source that asks the engine's HTTP server.

    Raises:
        ConfigError: The address is missing or none, or the file holds no key.
    """
    return SglangHttpSource(_engine_url(config), api_key=_read_key(config.api_key_file), dp_size=dp_size)


def _make_metrics_source(config: SidecarConfig) -> MetricsSource:
    mapping = _METRICS[config.source] or config.mapping
    if mapping is None:
        raise ConfigError(f"--source mapping needs --mapping: a TOML file, or one of {', '.join(shipped_mappings())}")
    pairs = [text.partition("=") for text in config.select]
    if wrong := [text for text, (label, sign, _) in zip(config.select, pairs, strict=True) if not (label and sign)]:
        raise ConfigError(f"--select {wrong[0]} is not allowed: LABEL=VALUE is")
    return MetricsSource(
        mapping,
        _engine_url(config),
        api_key=_read_key(config.api_key_file),
        dp_size=config.dp_size,
        first_dp_rank=config.first_dp_rank,
        max_running_requests=config.max_running_requests,
        max_total_num_tokens=config.max_total_num_tokens,
        prefix=config.metrics_prefix,
        select={label: value for label, _, value in pairs},
    )


def _engine_url(config: SidecarConfig) -> str:
    if config.engine_url is None:
        raise ConfigError(
            f"--source {config.source} needs --engine-url: the engine's address, such as http://127.0.0.1:30000"
        )
    return config.engine_url


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
