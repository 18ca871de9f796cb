"""The store in a Kubernetes cluster's own API server: one custom resource for each worker."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from p2p_registry.errors import BackendError
from p2p_registry.interfaces import UpdateOutcome
from p2p_registry.kubernetes.api import ObjectApi
from p2p_registry.kubernetes.cache import WorkerCache
from p2p_registry.kubernetes.following import Follower
from p2p_registry.kubernetes.merging import dropped
from p2p_registry.kubernetes.names import object_name
from p2p_registry.kubernetes.objects import (
    Object,
    WorkerEntry,
    entry_of,
    new_object,
    publication_patch,
    record_of,
    states_patch,
    tensors_config_map,
)
from p2p_registry.listing import is_older
from p2p_registry.records import SourceStatus, WorkerKey, WorkerRecord, WorkerState, WorkerSummary

_log = logging.getLogger(__name__)

_T = TypeVar("_T")
_Write: TypeAlias = Callable[[], Awaitable[bool]]

_ATTEMPTS = 32
"""Each failed one means that another replica's write came through, so only a herd on one worker takes more than two or three."""


class KubernetesBackend:
    """A `Backend` of modelexpress' custom resources, which its own server may share.

    Listings come from a watch: what this replica wrote is in them at once, what another one wrote as soon as the watch has told
    of it. Everything else asks the API server, and every change is made against the resource version that it was decided on, so
    replicas never overwrite each other. A record's tensors are written before the object that lists it.

    It belongs to the event loop that first asks it something.
    """

    def __init__(self, api: ObjectApi, namespace: str, *, silence_seconds: float = 90.0) -> None:
        """Store in `namespace`; nothing is asked yet.

        Args:
            api: The API server; `aclose` closes it.
            namespace: Where `api` keeps its objects. A worker's pod is its object's owner only if it is there, too.
            silence_seconds: A watch that says nothing for so long is begun anew; API servers send a bookmark each minute.
        """
        self._api = api
        self._namespace = namespace
        self._cache = WorkerCache()
        self._follower = Follower(api, self._cache, silence_seconds=silence_seconds)
        self._dropped: set[str] = set()

    async def publish(self, record: WorkerRecord) -> None:
        """Store `record`, as `Backend.publish` says."""
        if record.pod is not None and record.pod.namespace != self._namespace:
            # An owner in another namespace counts as gone, and the worker would be removed at once.
            record = replace(record, pod=None)
        new = new_object(record)
        name = new["metadata"]["name"]
        for _ in range(_ATTEMPTS):
            made = found = await self._api.create(new)
            if found is None:
                found = await self._api.patch(name, {"metadata": new["metadata"], "spec": new["spec"]})
            if found is None:
                continue  # removed in between
            try:
                config_map = tensors_config_map(record, found)
                if config_map is not None:
                    await self._api.write_config_map(config_map)
                patch = publication_patch(record, found, None if config_map is None else config_map["metadata"]["name"])
                if await self._patch_status(name, patch):
                    return
            except BackendError:
                if made is not None:
                    await self._take_back(name, made)
                raise
        raise _contended(name)

    async def _take_back(self, name: str, made: Object) -> None:
        """Delete an object that never got its status, which no reaper would see, unless it has changed since."""
        with suppress(BackendError):
            await self._api.delete(name, made["metadata"]["uid"], int(made["metadata"]["resourceVersion"]))

    async def update_state(self, key: WorkerKey, state: WorkerState) -> UpdateOutcome:
        """Replace the state of a record, as `Backend.update_state` says."""

        def decide(entry: WorkerEntry | None) -> tuple[UpdateOutcome, _Write | None]:
            stored = None if entry is None else dict(entry.states()).get(key.worker_rank)
            if entry is None or stored is None:
                return UpdateOutcome.NOT_REGISTERED, None
            if is_older(state.updated_at_ms, stored.updated_at_ms):
                return UpdateOutcome.OLDER, None
            return UpdateOutcome.APPLIED, lambda: self._write_states(entry, {key.worker_rank: state})

        return await self._settle(key.source_id, key.worker_id, decide)

    async def get(self, source_id: str, worker_id: str) -> WorkerRecord | None:
        """Return a worker's record, as `Backend.get` says."""
        name = object_name(source_id, worker_id)
        found = None if name is None else await self._api.get(name)
        entry = None if found is None else entry_of(found)
        if found is None or entry is None or entry.summary is None:
            return None
        tensors = None
        if (config_map := found["status"]["worker"].get("tensorConfigMap")) is not None:
            tensors = await self._api.config_map(config_map)
            if tensors is None:
                raise BackendError(
                    f"object {name} names the ConfigMap {config_map} with its tensors, which isn't there"
                )
        return record_of(found, tensors)

    async def summaries(self, source_id: str | None) -> Sequence[WorkerSummary]:
        """Return the workers' summaries, as `Backend.summaries` says."""
        await self._follower.catch_up()
        return self._cache.summaries(source_id)

    async def mark_stale(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        """Mark a silent worker STALE, as `Backend.mark_stale` says."""

        def decide(entry: WorkerEntry | None) -> tuple[bool, _Write | None]:
            silent = {
                rank: replace(state, status=SourceStatus.STALE)
                for rank, state in (() if entry is None else entry.states())
                if state.status in {SourceStatus.READY, SourceStatus.INITIALIZING}
                and state.updated_at_ms <= not_after_ms
            }
            if entry is None or not silent:
                return False, None
            return True, lambda: self._write_states(entry, silent)

        return await self._settle(source_id, worker_id, decide)

    async def remove(self, source_id: str, worker_id: str, not_after_ms: int) -> bool:
        """Remove a silent worker, as `Backend.remove` says."""

        def decide(entry: WorkerEntry | None) -> tuple[bool, _Write | None]:
            if entry is None or entry.summary is None:
                return False, None
            if any(state.updated_at_ms > not_after_ms for _, state in entry.states()):
                return False, None
            return True, lambda: self._delete(entry)

        return await self._settle(source_id, worker_id, decide)

    async def ping(self) -> None:
        """Return when the API server lets workers be listed."""
        await self._api.ping()

    async def aclose(self) -> None:
        """End the watch and the connections; what was stored stays."""
        await self._follower.aclose()
        await self._api.aclose()

    async def _settle(
        self, source_id: str, worker_id: str, decide: Callable[[WorkerEntry | None], tuple[_T, _Write | None]]
    ) -> _T:
        """Decide on the entry that is known and write, or on the one that there is, until a write comes through.

        A decision to write nothing is only taken on an entry that was read for it: the known one may be old.
        """
        name = object_name(source_id, worker_id)
        if name is None:
            return decide(None)[0]
        entry, is_read = self._cache.get(name), False
        for _ in range(_ATTEMPTS):
            outcome, write = decide(entry)
            if write is None and is_read:
                return outcome
            if write is not None and await write():
                return outcome
            found = await self._api.get(name)
            entry, is_read = None if found is None else entry_of(found), True
        raise _contended(name)

    async def _write_states(self, entry: WorkerEntry, states: Mapping[int, WorkerState]) -> bool:
        return await self._patch_status(entry.name, states_patch(entry, states))

    async def _delete(self, entry: WorkerEntry) -> bool:
        if not await self._api.delete(entry.name, entry.uid, entry.version):
            return False
        self._cache.removed(entry)
        return True

    async def _patch_status(self, name: str, patch: Object) -> bool:
        found = await self._api.patch_status(name, patch)
        if found is None:
            return False
        entry = entry_of(found)
        if entry is not None:
            self._cache.written(entry)
        self._tell_dropped(patch["status"], found.get("status") or {})
        return True

    def _tell_dropped(self, sent: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
        new = set(dropped(sent, kept, "status")) - self._dropped
        if new:
            self._dropped |= new
            _log.warning(
                "the cluster's CustomResourceDefinition of ModelMetadata is older than this registry and drops %s, so it is "
                "unknown to whoever lists sources: p2p-registry manifest crd | kubectl apply -f -",
                ", ".join(sorted(new)),
            )


def _contended(name: str) -> BackendError:
    return BackendError(f"object {name} changed {_ATTEMPTS} times before a change to it came through")
