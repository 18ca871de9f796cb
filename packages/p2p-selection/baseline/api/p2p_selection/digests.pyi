from _typeshed import Incomplete
from collections.abc import Sequence
from p2p_selection._hashes import Hashes as Hashes, Sources as Sources
from p2p_selection.candidates import Candidate as Candidate, Target as Target
from p2p_selection.errors import SettingError as SettingError
from typing import Final

KeyVersion: Incomplete
DEFAULT_CACHE_SIZE: Final[int]

def rendezvous_digest(candidate: Candidate, target: Target, *, key_version: KeyVersion = 1) -> int: ...

class DigestCache:
    key_version: KeyVersion
    def __init__(self, *, key_version: KeyVersion = 1, size: int = ...) -> None: ...
    def digests(self, candidates: Sequence[Candidate], target: Target) -> list[int]: ...
    def hashes(self, candidates: Sequence[Candidate], target: Target) -> Hashes: ...
