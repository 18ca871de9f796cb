"""Where the trainer says which version of the weights is published: in memory for one process, in a file for several."""

import json
import os
from pathlib import Path


class MemoryPublishedVersions:
    """Published versions of one process."""

    def __init__(self) -> None:
        """Nothing is published yet."""
        self._versions: dict[str, int] = {}

    def publish(self, model: str, version: int) -> None:
        """Note that a transfer of a version succeeded.

        Raises:
            ValueError: The version is negative or below the last one.
        """
        self._versions = advanced(self._versions, model, version)

    def current(self, model: str) -> int | None:
        """Return the version that was published last, or None before the first."""
        return self._versions.get(model)


class FilePublishedVersions:
    """Published versions in a JSON file, replaced as a whole: readers see the old or the new one, also when the writer dies.

    One process writes, any number on the same file system read; every look reads the file. A file that is missing or isn't readable
    is an error and never "nothing is published", which would let every response pass.
    """

    def __init__(self, path: Path) -> None:
        """Name the file; `create` makes it."""
        self._path = path

    @classmethod
    def create(cls, path: Path) -> "FilePublishedVersions":
        """Return the store at a path, for the writer: an existing file is gone on with."""
        store = cls(path)
        if not path.exists():
            store._write({})
        return store

    def publish(self, model: str, version: int) -> None:
        """Note that a transfer of a version succeeded.

        Raises:
            ValueError: The version is negative or below the last one, or the file holds something else.
            OSError: The file can't be read or replaced.
        """
        self._write(advanced(self._read(), model, version))

    def current(self, model: str) -> int | None:
        """Return the version that was published last, or None before the first.

        Raises:
            ValueError: The file holds something else.
            OSError: The file can't be read.
        """
        return self._read().get(model)

    def _read(self) -> dict[str, int]:
        text = self._path.read_text(encoding="utf-8")
        try:
            versions = json.loads(text)
        except ValueError:
            versions = None
        if not isinstance(versions, dict) or not all(type(version) is int for version in versions.values()):
            raise ValueError(
                f"{self._path} holds no published versions, which are a JSON object of numbers: {text[:80]!r}"
            )
        return versions

    def _write(self, versions: dict[str, int]) -> None:
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        with beside.open("w", encoding="utf-8") as file:
            json.dump(versions, file, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)


def advanced(versions: dict[str, int], model: str, version: int) -> dict[str, int]:
    """Return the versions with one of them published; the same one again changes nothing.

    Raises:
        ValueError: The version is negative or below the last one.
    """
    last = versions.get(model, 0)
    if version < last:
        raise ValueError(
            f"version {version} of model {model!r} can't be published: the last one was {last}, give that or more"
        )
    return {**versions, model: version}
