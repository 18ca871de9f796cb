"""A router as a pure state machine: a request and a time go in, an answer comes out. It imports neither asyncio nor a server."""

from collections import deque
from collections.abc import Mapping
from uuid import UUID

from router_lifecycle.testing._answers import (
    Answer,
    accepted,
    error_answer,
    json_answer,
    not_found,
    placeholder,
    queued,
    row,
    text_answer,
    with_record,
)
from router_lifecycle.testing._jobs import add_worker, remove_worker, update_worker
from router_lifecycle.testing._requests import changed_worker, posted_worker
from router_lifecycle.testing._state import Entry, JobType, PostedWorker, Process, RouterState
from router_lifecycle.testing.engine import Health
from router_lifecycle.testing.profiles import IdKind


class RouterModel:
    """The worker routes of one router process; None instead of an answer means that none ever comes."""

    def __init__(self, state: RouterState) -> None:
        """Serve a state."""
        self.state: RouterState = state
        self._waiting: deque[tuple[JobType, str, Process]] = deque()
        self._running = 0

    def register(self, fields: Mapping[str, object]) -> Answer | None:
        """Take `POST /workers`."""
        state = self.state
        posted = posted_worker(state, fields)
        url = posted.url
        if state.profile.is_smg:
            listed = state.entries_of(url)
            if listed:
                return error_answer(409, _already_exists(url, listed[0].id), "WORKER_ALREADY_EXISTS")
            if url in state.creating:
                return error_answer(409, _in_progress(url, state.id_of(url)), "WORKER_CREATE_IN_PROGRESS")
            state.creating[url] = posted
        answer = accepted(state, url)
        return answer if self._queue("AddWorker", url, add_worker(state, posted)) else None

    def remove(self, worker_id: str) -> Answer | None:
        """Take `DELETE /workers/{id}`."""
        refused = self._refused_id(worker_id)
        if refused is not None:
            return refused
        url = self._url_of(worker_id)
        if url is None or (self.state.profile.is_smg and not self._is_known_to_smg(url)):
            return not_found(worker_id)
        is_queued = self._queue("RemoveWorker", url, remove_worker(self.state, url))
        return queued(worker_id, "removal") if is_queued else None

    def show(self, worker_id: str) -> Answer:
        """Take `GET /workers/{id}`."""
        refused = self._refused_id(worker_id)
        if refused is not None:
            return refused
        state = self.state
        entry = state.entries.get(worker_id)
        if entry is not None:
            return json_answer(200, with_record(row(state, entry), state.records.get(entry.url)))
        url = self._url_of(worker_id)
        record = state.records.get(url) if url is not None else None
        if url is None or record is None:
            return not_found(worker_id)
        return json_answer(200, with_record(placeholder(state, worker_id, url), record))

    def update(self, worker_id: str, fields: Mapping[str, object], *, is_replacement: bool) -> Answer | None:
        """Take `PUT` or `PATCH /workers/{id}`."""
        refused = self._refused_id(worker_id)
        if refused is not None:
            return refused
        entry = self.state.entries.get(worker_id)
        if entry is None:
            return not_found(worker_id)
        if is_replacement and self.state.profile.is_smg:
            if fields["url"] != entry.url:
                return error_answer(400, _url_mismatch(entry, fields["url"]), "BAD_REQUEST")
            changed = posted_worker(self.state, fields)
        else:
            changed = changed_worker(entry.posted, fields)
        is_queued = self._queue("UpdateWorker", entry.url, update_worker(self.state, entry, changed))
        return queued(worker_id, "update") if is_queued else None

    def register_legacy(self, url: str) -> Answer:
        """Take `POST /add_worker?url=`, which answers when the worker serves; one that doesn't is refused at once here."""
        state = self.state
        if state.entries_of(url):
            return text_answer(400, f"Worker {url} already exists")
        if state.health_of(url) is not Health.HEALTHY:
            return text_answer(400, f"Health check failed for worker {url}")
        posted = PostedWorker(url=url)
        engine = state.engine_of(url)
        state.list_entry(Entry(id=state.id_of(url), url=url, posted=posted, engine=engine, is_healthy=True))
        return text_answer(200, f"Worker {url} added successfully")

    def remove_legacy(self, url: str) -> Answer:
        """Take `POST /remove_worker?url=`, which answers 200 whatever was there."""
        for entry in self.state.entries_of(url):
            self.state.drop_entry(entry)
        return text_answer(200, f"Worker {url} removed successfully")

    def _queue(self, job_type: JobType, url: str, process: Process) -> bool:
        """Run a job or let it wait; return False when the queue is full, with the record written all the same."""
        state = self.state
        state.record(job_type, url, "pending")
        slots = state.profile.job_slots
        if slots is None or self._running < slots:
            self._run(job_type, url, process)
            return True
        if len(self._waiting) >= state.profile.queue_room:
            return False
        self._waiting.append((job_type, url, process))
        return True

    def _run(self, job_type: JobType, url: str, process: Process) -> None:
        self._running += 1
        self.state.record(job_type, url, "processing")
        self.state.start(self._until_done(process))

    def _until_done(self, process: Process) -> Process:
        yield from process
        self._running -= 1
        if self._waiting:
            self._run(*self._waiting.popleft())

    def _refused_id(self, worker_id: str) -> Answer | None:
        if self.state.profile.ids is IdKind.URL:
            return None
        try:
            UUID(worker_id)
        except ValueError:
            message = f"Invalid worker_id '{worker_id}' (expected UUID). Error: {_uuid_fault(self.state, worker_id)}"
            return error_answer(400, message, "BAD_REQUEST")
        return None

    def _is_known_to_smg(self, url: str) -> bool:
        """Return whether SMG removes it: it keeps the id that it gave a worker with ranks, and doesn't know it any more."""
        return url in self.state.creating or bool(self.state.entries_of(url))

    def _url_of(self, worker_id: str) -> str | None:
        if self.state.profile.ids is IdKind.URL:
            return worker_id
        return next((url for url, known in self.state.reserved_ids.items() if known == worker_id), None)


def _uuid_fault(state: RouterState, worker_id: str) -> str:
    at, found = next(((at, c) for at, c in enumerate(worker_id) if c not in "0123456789abcdefABCDEF-"), (0, ""))
    if state.profile.is_smg:
        return f"invalid character: found `{found}` at {at}"
    expected = "expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-]"
    return f"invalid character: {expected}, found `{found}` at {at + 1}"


def _already_exists(url: str, worker_id: str) -> str:
    return (
        f"Worker already exists at URL '{url}' with ID {worker_id}. "
        f"Use PUT /workers/{worker_id} to replace or PATCH /workers/{worker_id} to update."
    )


def _in_progress(url: str, worker_id: str) -> str:
    return f"Worker creation already in progress for URL '{url}' with ID {worker_id}. Poll GET /workers/{worker_id}."


def _url_mismatch(entry: Entry, url: object) -> str:
    return (
        f"URL mismatch: worker has URL '{entry.url}' but request body has '{url}'. "
        "URL changes are not supported via PUT. Use DELETE + POST instead."
    )
