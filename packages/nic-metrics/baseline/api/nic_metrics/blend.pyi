from collections.abc import Callable, Mapping
from typing import TypeAlias

Blend: TypeAlias = Callable[[Mapping[str, float | None]], float | None]
LOOKS_IDLE_BELOW: float

def greatest(loads: Mapping[_Name, float | None]) -> float | None: ...
def greatest_known(loads: Mapping[_Name, float | None]) -> float | None: ...
