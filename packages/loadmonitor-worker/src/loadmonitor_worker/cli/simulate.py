"""`loadmonitor-worker simulate`: an engine that isn't one, for demonstrations and tests without a GPU."""

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path

from loadmonitor_worker.cli._options import stop_signals
from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.sources import SglangShmWriter, SyntheticSource
from loadmonitor_worker.sources._shm_layout import MAGIC

MAX_DP_SIZE = 65_535


def simulate(
    *, shm_path: Path, dp_size: int = 1, seed: int = 0, period_ms: int = 20_000, publish_interval_ms: int = 50
) -> int:
    """Publish a made-up load in SGLang's shared-memory format until stopped.

    Args:
        shm_path: The file to write, as SGLang does under /dev/shm; it is left behind, as SGLang leaves it.
        dp_size: Data-parallel ranks.
        seed: Chooses the loads; the same seed gives the same loads.
        period_ms: Time from one peak of load to the next.
        publish_interval_ms: Time between two snapshots of a rank.
    """
    if publish_interval_ms < 1:
        raise ConfigError(f"--publish-interval-ms {publish_interval_ms} is not allowed: at least 1 is")
    if dp_size > MAX_DP_SIZE:
        raise ConfigError(f"--dp-size {dp_size} is not allowed: SGLang's file holds up to {MAX_DP_SIZE} ranks")
    _refuse_other_files(shm_path)
    return asyncio.run(
        _publish(SyntheticSource(dp_size, seed=seed, period_ms=period_ms), shm_path, publish_interval_ms / 1_000)
    )


async def _publish(source: SyntheticSource, path: Path, interval_seconds: float) -> int:
    ranks = sorted(source.expected_dp_ranks())
    async with stop_signals() as stopped:
        with ExitStack() as stack:
            try:
                writers = [stack.enter_context(SglangShmWriter(path, len(ranks), rank)) for rank in ranks]
            except OSError as error:
                raise ConfigError(f"--shm-path {path} can't be written: {error.strerror}") from error
            sys.stdout.write(f"publishing {len(ranks)} ranks in {path}\n")
            sys.stdout.flush()
            while not stopped.done():
                for writer, load in zip(writers, await source.get_loads(), strict=True):
                    writer.write(load)
                await asyncio.wait([stopped], timeout=interval_seconds)
        return stopped.result()


def _refuse_other_files(path: Path) -> None:
    """Raise ConfigError rather than overwrite a file that isn't a load snapshot file."""
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError:
        return  # there is none, or the writer will say what is wrong with it
    if start not in (b"", MAGIC):
        raise ConfigError(f"--shm-path {path} is another file: name a new one, or one that SGLang or this command made")
