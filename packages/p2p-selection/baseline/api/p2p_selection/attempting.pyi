from collections.abc import Awaitable, Callable as Callable, Iterable
from p2p_selection.adjusting import InFlight as InFlight
from p2p_selection.candidates import Candidate as Candidate
from p2p_selection.errors import MetadataMissError as MetadataMissError, NoSourceLeftError as NoSourceLeftError, SettingError as SettingError
from p2p_selection.interfaces import AttemptOutcome as AttemptOutcome, Feedback as Feedback
from typing import TypeVar

ResultT = TypeVar('ResultT')

async def attempt(candidates: Iterable[Candidate], pull: Callable[[Candidate], Awaitable[ResultT]], *, budget: int = 3, deadline_seconds: float = 300.0, feedback: Feedback | None = None, in_flight: InFlight | None = None, monotonic: Callable[[], float] = ...) -> tuple[Candidate, ResultT]: ...
