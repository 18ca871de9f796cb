"""The file of `SnapshotBackend`: a line that says what it is, then one JSON object a record.

The first line holds the format's version, the number of records and the SHA-256 of what follows, so that a file cut short or damaged
is told from a whole one. Bytes are in base64; a load that is no number is written as Python's JSON has it.
"""

import base64
import errno
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from p2p_registry.errors import BackendError
from p2p_registry.records import SourceStatus, WorkerKey, WorkerRecord, WorkerState, WorkerSummary

_FORMAT = "p2p-registry snapshot"
_VERSION = 1


def lock_snapshot(path: Path) -> int:
    """Return a descriptor that keeps other processes from the file while it is open: each would undo what the others save.

    It is of `PATH.lock`, because the file itself is replaced; that stays where it is, and counts only while its process lives.

    Raises:
        BackendError: Another process has the file, or it can't be locked.
    """
    import fcntl  # noqa: PLC0415 - Windows has none, and a store without a file needs none

    try:
        descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise BackendError(f"the snapshot {path} can't be written: {error.strerror}") from error
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in {errno.EACCES, errno.EAGAIN}:
            why = "belongs to another process that runs: give each its own file, or have replicas use Redis"
        else:
            why = f"can't be locked: {error.strerror}"
        raise BackendError(f"the snapshot {path} {why}") from error
    return descriptor


def read_snapshot(path: Path) -> list[WorkerRecord]:
    """Return the records of a file, none where there is no file.

    Raises:
        BackendError: The file isn't a whole snapshot of this version, or can't be read.
    """
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BackendError(f"the snapshot {path} can't be read: {error.strerror}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BackendError(
            f"the snapshot {path} is left as it is, because {error}; restore it, or move it away to begin with an empty store"
        ) from error


def write_snapshot(path: Path, records: Sequence[WorkerRecord]) -> None:
    """Put the records in the place of what the file holds; the file has either the old ones or the new ones at any time.

    The new ones are on the disk when this returns.

    Raises:
        BackendError: They can't be written; the file has the old ones.
    """
    beside = path.with_name(f"{path.name}.new")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(_encode(records))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise BackendError(f"the snapshot {path} can't be written: {error.strerror}") from error


def _encode(records: Sequence[WorkerRecord]) -> bytes:
    body = "".join(f"{json.dumps(_members(record))}\n" for record in records).encode()
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "records": len(records),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    return f"{json.dumps(head)}\n".encode() + body


def _decode(content: bytes) -> list[WorkerRecord]:
    first, _, body = content.partition(b"\n")
    try:
        head = json.loads(first)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise ValueError("it doesn't begin as a snapshot")
    if head.get("version") != _VERSION:
        raise ValueError(f"it is of version {head.get('version')}, and this release reads version {_VERSION}")
    if head.get("sha256") != hashlib.sha256(body).hexdigest():
        raise ValueError(
            f"it is damaged or cut short: its {head.get('records')} records don't have the digest that it names"
        )
    return [_record(json.loads(line)) for line in body.splitlines()]


def _members(record: WorkerRecord) -> dict[str, object]:
    summary = record.summary
    return {
        "key": asdict(summary.key),
        "state": asdict(summary.state),
        "model_name": summary.model_name,
        "accelerator": summary.accelerator,
        "topology": dict(summary.topology),
        "training_step": summary.training_step,
        "layout_signature": summary.layout_signature,
        "identity": base64.b64encode(record.identity).decode(),
        "metadata": base64.b64encode(record.metadata).decode(),
    }


def _record(members: dict[str, Any]) -> WorkerRecord:
    return WorkerRecord(
        summary=WorkerSummary(
            key=WorkerKey(**members["key"]),
            state=WorkerState(**members["state"] | {"status": SourceStatus(members["state"]["status"])}),
            model_name=members["model_name"],
            accelerator=members["accelerator"],
            topology=members["topology"],
            training_step=members["training_step"],
            layout_signature=members["layout_signature"],
        ),
        identity=base64.b64decode(members["identity"]),
        metadata=base64.b64decode(members["metadata"]),
    )
