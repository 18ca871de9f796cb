"""What a replica knows of all workers: a list, kept up by a watch and by the replica's own writes. Time and I/O are the caller's."""

from collections.abc import Iterable

from p2p_registry.kubernetes.objects import WorkerEntry
from p2p_registry.records import WorkerSummary


class WorkerCache:
    """Entries by name, each the newest of what was listed, watched and answered to a write.

    A write's answer often comes before the watch tells of it, and sometimes long after. So resource versions are compared as
    numbers, as Kubernetes allows within one kind of resource: no event makes an entry older, and an answer that the watch is
    past is left to the watch, because its object may be gone by now.
    """

    def __init__(self) -> None:
        self._entries: dict[str, WorkerEntry] = {}
        self._removed: dict[str, int] = {}
        self._seen = 0

    @property
    def seen(self) -> int:
        """The resource version up to which everything was listed or watched."""
        return self._seen

    def get(self, name: str) -> WorkerEntry | None:
        """Return the entry of this name."""
        return self._entries.get(name)

    def summaries(self, source_id: str | None) -> list[WorkerSummary]:
        """Return the summaries of one source's workers, or with None of all."""
        found = [entry.summary for entry in self._entries.values() if entry.summary is not None]
        return found if source_id is None else [summary for summary in found if summary.key.source_id == source_id]

    def list(self, version: int, entries: Iterable[WorkerEntry]) -> None:
        """Begin anew with everything that there was at this version, but for what was written since."""
        newer = {name: entry for name, entry in self._entries.items() if entry.version > version}
        self._entries = newer | {each.name: each for each in entries if self._is_news(each, newer.get(each.name))}
        self._removed = {name: removed for name, removed in self._removed.items() if removed >= version}
        self._seen = version

    def changed(self, entry: WorkerEntry) -> None:
        """Take an event: the object was made or changed."""
        if self._is_news(entry, self._entries.get(entry.name)):
            self._entries[entry.name] = entry
            self._removed.pop(entry.name, None)
        self.passed(entry.version)

    def deleted(self, name: str, version: int) -> None:
        """Take an event: the object was deleted, at this version."""
        known = self._entries.get(name)
        if known is not None and known.version <= version:
            del self._entries[name]
        self._removed.pop(name, None)
        self.passed(version)

    def passed(self, version: int) -> None:
        """Take a bookmark: everything up to this version was watched."""
        self._seen = max(self._seen, version)

    def written(self, entry: WorkerEntry) -> None:
        """Take the answer to a write of this replica's."""
        if entry.version > self._seen and self._is_news(entry, self._entries.get(entry.name)):
            self._entries[entry.name] = entry
            self._removed.pop(entry.name, None)

    def removed(self, entry: WorkerEntry) -> None:
        """Take the answer to this replica's removal of an object as it was at the entry's version."""
        known = self._entries.get(entry.name)
        if known is None and entry.version <= self._seen:
            return  # the watch has told of it
        if known is None or known.version <= entry.version:
            self._entries.pop(entry.name, None)
            self._removed[entry.name] = entry.version

    def _is_news(self, entry: WorkerEntry, known: WorkerEntry | None) -> bool:
        newest = max(known.version if known is not None else 0, self._removed.get(entry.name, 0))
        return entry.version > newest or (known is not None and entry.version == known.version)
