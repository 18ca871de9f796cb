"""The handles that commands read: what add, remove and replace printed."""

import sys
from pathlib import Path

from pydantic import SecretStr, TypeAdapter, ValidationError

from router_lifecycle import RegistrationHandle, RemovalHandle, ReplacementHandle
from router_lifecycle.cli._session import AnyHandle, Handle, UsageError, read_key

_HANDLES: TypeAdapter[AnyHandle] = TypeAdapter(RegistrationHandle | RemovalHandle | ReplacementHandle)


def with_key(held: AnyHandle, key_file: Path | None) -> AnyHandle:
    """Return a handle whose registration has the worker's own key again.

    Raises:
        UsageError: The file can't be read, holds no key, or there is no registration for it.
    """
    key = read_key(key_file, "--worker-key-file")
    if key is None:
        return held
    if isinstance(held, RemovalHandle):
        raise UsageError("--worker-key-file is not allowed with the handle of a removal: it submits nothing")
    try:
        if isinstance(held, RegistrationHandle):
            return held.with_key(SecretStr(key))
        return held.model_copy(update={"new": held.new.with_key(SecretStr(key))})
    except ValidationError as error:
        raise UsageError(f"--worker-key-file {key_file} holds what can't be a key") from error


def read_handle(path: Path) -> Handle:
    """Return the handle of one worker that a file holds; - is stdin.

    Raises:
        UsageError: The file can't be read, holds none, or that of a replacement.
    """
    held = read_any_handle(path)
    if isinstance(held, ReplacementHandle):
        raise UsageError(
            f"--handle {path} is not allowed here, it is of a replacement: `router-lifecycle wait` finishes it"
        )
    return held


def read_any_handle(path: Path) -> AnyHandle:
    """Return the handle that a file holds; - is stdin.

    Raises:
        UsageError: The file can't be read, or holds none.
    """
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--handle {path} can't be read: {error}") from error
    try:
        return _HANDLES.validate_json(text)
    except ValidationError as error:
        raise UsageError(
            f"--handle {path} holds no handle: give the JSON that add, remove or replace printed"
        ) from error
