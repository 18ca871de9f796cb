"""A store in Redis, shared by any number of replicas, this package's and modelexpress' Rust server's."""

import logging
import re
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.commands.core import AsyncScript

from p2p_registry import redis_scripts as scripts
from p2p_registry.errors import BackendError, InvalidBackendUrlError, RecordRefusedError
from p2p_registry.interfaces import UpdateOutcome
from p2p_registry.listing import CLOCKS_AGREE_MS
from p2p_registry.records import WorkerKey, WorkerRecord, WorkerState, WorkerSummary
from p2p_registry.redis_layout import (
    ATTRIBUTES,
    PREFIX,
    SOURCE_KEYS,
    UnreadableError,
    attributes_text,
    has_place,
    load_text,
    record_of,
    record_text,
    small_text,
    source_key,
    summaries_of,
    worker_key,
)

__all__ = ["RedisBackend"]

_log = logging.getLogger(__name__)

_FORMS = (
    "redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss:// for TLS, or unix://[USER:PASSWORD@]/PATH[?db=DB], "
    "with special letters of a password as %XX"
)
_OUTCOMES = {-1: UpdateOutcome.NOT_REGISTERED, 0: UpdateOutcome.OLDER, 1: UpdateOutcome.APPLIED}
_SOURCES_AT_ONCE = 100  # in one script; Redis answers nobody else meanwhile


class RedisBackend:
    """A `Backend` in Redis 5 or later, without clustering; every method but a listing of all sources is one script there.

    A listing of all sources is atomic for each source. Records outlive Redis as far as its own persistence goes; where it has none,
    sources publish again by themselves. Connections are made when they are needed, at most 32, and a call that finds its connection
    broken makes one more attempt.

    For one event loop.
    """

    def __init__(self, url: str) -> None:
        """Name the store; nothing is dialled yet.

        Args:
            url: `redis://`, `rediss://` or `unix://` as redis-py has them, with a database's number, a user, a password and options
                of the connection, such as `?socket_timeout=2` (5 seconds where there is none) or `?ssl_ca_certs=FILE`.

        Raises:
            InvalidBackendUrlError: `url` can't be read.
        """
        try:
            # Releases before 6 don't look at the name on a certificate unless they are told to.
            tls = {"ssl_check_hostname": True} if _scheme(url) == "rediss" else {}
            pool: BlockingConnectionPool = BlockingConnectionPool.from_url(
                url,
                max_connections=32,
                timeout=5,
                socket_timeout=5,
                socket_connect_timeout=5,
                protocol=2,
                retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), 1),
                # The default of releases from 6 on.
                retry_on_error=[exceptions.ConnectionError, exceptions.TimeoutError],
                **tls,
            )
            # An option that it doesn't know would be found only by the first call.
            pool.connection_class(**pool.connection_kwargs)
        except (TypeError, ValueError, exceptions.RedisError):
            # Their texts may hold parts of a password.
            raise InvalidBackendUrlError(f"the URL of a Redis store can't be read; {_FORMS} is allowed") from None
        options = pool.connection_kwargs
        self._where = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        self._password = options.get("password")
        self._pool = pool
        self._redis: Redis = Redis(connection_pool=pool)
        self._publish = self._redis.register_script(scripts.PUBLISH)
        self._update_state = self._redis.register_script(scripts.UPDATE_STATE)
        self._get = self._redis.register_script(scripts.GET)
        self._summaries = self._redis.register_script(scripts.SUMMARIES)
        self._mark_stale = self._redis.register_script(scripts.MARK_STALE)
        self._remove = self._redis.register_script(scripts.REMOVE)

    async def publish(self, record: WorkerRecord) -> None:
        """Store `record`, as `Backend.publish` says; it costs as much as the record is long.

        Raises:
            BackendError: The store failed.
            RecordRefusedError: The layout has no place for the record's ids.
        """
        key = record.summary.key
        if not has_place(key.source_id, key.worker_id):
            raise RecordRefusedError(
                f"worker {key.worker_id!r} of source {key.source_id!r} has no place in Redis: a source id is 16 hexadecimal "
                f"digits, and a worker id isn't {ATTRIBUTES}"
            )
        texts = record_text(record), small_text(record.summary), attributes_text(record.identity)
        await self._run(
            self._publish(keys=_keys(key.source_id, key.worker_id), args=[key.worker_id, key.worker_rank, *texts])
        )

    async def update_state(self, key: WorkerKey, state: WorkerState) -> UpdateOutcome:
        """Replace the state of a record, as `Backend.update_state` says; the record itself is neither read nor written."""
        if not has_place(key.source_id, key.worker_id):
            return UpdateOutcome.NOT_REGISTERED
        done = await self._run(
            self._update_state(
                keys=_keys(key.source_id, key.worker_id),
                args=[
                    key.worker_id,
                    key.worker_rank,
                    state.status.value,
                    state.updated_at_ms,
                    load_text(state.source_load),
                    CLOCKS_AGREE_MS,
                ],
            )
        )
        return _OUTCOMES[done]

    async def get(self, source_id: str, worker_id: str) -> WorkerRecord | None:
        """Return a worker's record, as `Backend.get` says.

        Raises:
            BackendError: Also where something else stands in the record's place.
        """
        if not has_place(source_id, worker_id):
            return None
        found = await self._run(self._get(keys=_keys(source_id, worker_id), args=[worker_id]))
        if found is None:
            return None
        attributes, rank, whole, small = found
        try:
            key = WorkerKey(source_id=source_id, worker_id=worker_id, worker_rank=int(rank))
            return record_of(key, attributes, whole, small)
        except UnreadableError as error:
            raise BackendError(f"worker {worker_id!r} of source {source_id} can't be read in Redis: {error}") from error

    async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
        """Return the workers' summaries, as `Backend.summaries` says; what can't be read is logged and left out."""
        if source_id is not None:
            sources = {source_id} if has_place(source_id, "") else set()
        else:
            names = await self._run(self._scan())
            sources = {name for name in (key.decode(errors="replace") for key in names) if has_place(name, "")}
        return [summary for some in _parts(sorted(sources)) for summary in await self._read(some)]

    async def mark_stale(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        """Mark a silent worker STALE, as `Backend.mark_stale` says."""
        return await self._change(self._mark_stale, source_id, worker_id, not_after_ms)

    async def remove(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        """Remove a silent worker, as `Backend.remove` says."""
        return await self._change(self._remove, source_id, worker_id, not_after_ms)

    async def ping(self) -> None:
        """Return when Redis takes changes: a replica, or a server that can't save, answers without taking any."""
        await self._run(self._redis.delete(source_key("ping")))  # no source's key, so nothing is ever there

    async def aclose(self) -> None:
        """Close the connections."""
        await self._run(self._pool.disconnect())

    async def _change(self, script: AsyncScript, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        if not has_place(source_id, worker_id):
            return False
        return bool(await self._run(script(keys=_keys(source_id, worker_id), args=[worker_id, not_after_ms])))

    async def _scan(self) -> list[bytes]:
        return [key[len(PREFIX) :] async for key in self._redis.scan_iter(SOURCE_KEYS, count=1000)]

    async def _read(self, source_ids: Sequence[str]) -> list[WorkerSummary]:
        found = await self._run(self._summaries(keys=[source_key(source_id) for source_id in source_ids]))
        listed: list[WorkerSummary] = []
        for source_id, (attributes, rows) in zip(source_ids, found, strict=True):
            summaries, unreadable = summaries_of(source_id, attributes, rows)
            listed += summaries
            if unreadable:
                _log.warning("workers of source %s can't be read in Redis: %s", source_id, ", ".join(unreadable))
        return listed

    async def _run(self, step: Awaitable[Any]) -> Any:
        try:
            return await step
        except (exceptions.RedisError, OSError) as error:
            text = str(error) or type(error).__name__
            if isinstance(error, exceptions.ReadOnlyError) or "READONLY" in text:
                # A server that became a replica keeps its connections, while its name may lead to the new primary by now.
                await self._pool.disconnect(inuse_connections=False)
            if self._password and self._password in text:
                raise BackendError(f"Redis at {self._where}: {text.replace(self._password, '***')}") from None
            raise BackendError(f"Redis at {self._where}: {text}") from error


def _scheme(url: str) -> str:
    """Return the scheme of a URL; what redis-py takes for a default is refused with a `ValueError`."""
    parts = urlsplit(url)
    path = r"/.+" if parts.scheme == "unix" else r"/?[0-9]*"
    if not url.startswith(f"{parts.scheme}://") or not re.fullmatch(path, parts.path):
        raise ValueError
    return parts.scheme


def _keys(source_id: str, worker_id: str) -> list[str]:
    return [worker_key(source_id, worker_id), source_key(source_id)]


def _parts(source_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (source_ids[i : i + _SOURCES_AT_ONCE] for i in range(0, len(source_ids), _SOURCES_AT_ONCE))
