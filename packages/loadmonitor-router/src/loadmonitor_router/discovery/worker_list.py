"""The worker lists of routers, told apart by their shape.

- `{"workers": [{"url": …, "worker_type": …, …}], …}`: `GET /workers` of SGLang Router 0.2 and 0.3, and of SMG.
- `{"urls": […]}`: `GET /list_workers` of SGLang Router up to 0.2.0.

A data-parallel worker is there once for each rank, as `url@rank`; here it is one Worker.
"""

import json
from collections.abc import Iterator, Mapping

from loadmonitor_router._redaction import without_password
from loadmonitor_router.discovery.targets import target_set, worker_target, worker_type_of
from loadmonitor_router.errors import ConfigError, WorkerListError
from loadmonitor_router.snapshot import WorkerTarget

REPORTER_PORT_LABEL = "loadmonitor_port"
"""The label by which a worker that is posted to a router tells the port of its reporter."""

_SHOWN_CHARACTERS = 120


def parse_worker_list(body: bytes, reporter_port: int) -> tuple[WorkerTarget, ...]:
    """Return the Workers of a router's answer.

    A worker counts whether or not the router calls it healthy: its reporter tells that better, and a worker that comes and
    goes with each health check would never show an age. What the router has only been asked to add isn't one yet: entries of
    the type "unknown" are placeholders.

    Args:
        body: The answer's body.
        reporter_port: Where the reporter of a worker listens that has no label `loadmonitor_port`.

    Raises:
        ConfigError: A URL isn't allowed.
        WorkerListError: The body has none of the known shapes, or two Workers share a reporter.
    """
    try:
        document = json.loads(body)
    except ValueError as error:
        raise WorkerListError(f"not JSON ({error}): {_excerpt(body)}") from None
    match document:
        case {"workers": [*workers]}:
            return target_set(_workers(workers, reporter_port))
        case {"urls": [*urls]} if all(isinstance(url, str) for url in urls):
            return target_set(worker_target(url, reporter_port) for url in urls)
    raise WorkerListError(f'neither {{"workers": [...]}} nor {{"urls": [...]}}: {_excerpt(body)}')


def _workers(entries: list[object], reporter_port: int) -> Iterator[WorkerTarget]:
    for entry in entries:
        match entry:
            case {"worker_type": "unknown"}:
                continue
            case {"url": str(url), "worker_type": word, **labelled}:
                try:
                    yield worker_target(url, _port_label(labelled, reporter_port), worker_type_of(word))
                except ConfigError:
                    # A router of 0.2 keeps what was posted by mistake in its list for ever, as a worker that isn't healthy.
                    if labelled.get("is_healthy") is not False:
                        raise
            case _:
                raise WorkerListError(f"a worker without url and worker_type: {_excerpt(json.dumps(entry).encode())}")


def _port_label(labelled: Mapping[object, object], default: int) -> int:
    """Return the port that a worker's labels tell; routers before SMG show labels as metadata."""
    for key in ("labels", "metadata"):
        labels = labelled.get(key)
        text = labels.get(REPORTER_PORT_LABEL) if isinstance(labels, Mapping) else None
        if text is not None:
            if not (isinstance(text, str) and text.isascii() and text.isdigit()):
                raise ConfigError(f"label {REPORTER_PORT_LABEL}={text!r} is no port: digits are")
            return int(text)
    return default


def _excerpt(body: bytes) -> str:
    text = without_password(body.decode(errors="replace"))
    return repr(text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…")
