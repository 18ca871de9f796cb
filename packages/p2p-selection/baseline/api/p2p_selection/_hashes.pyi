from collections.abc import Sequence

Sources = tuple[list[str], list[str], list[int]]

def unit_hashes(digests: Sequence[int]) -> list[float]: ...

class Hashes:
    sources: Sources
    digests: list[int]
    reused: bool
    def __init__(self, sources: Sources, digests: list[int]) -> None: ...
    @property
    def units(self) -> list[float]: ...
    @property
    def by_digest(self) -> list[int]: ...
