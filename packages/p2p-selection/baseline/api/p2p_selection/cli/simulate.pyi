from cyclopts import Parameter as Parameter
from p2p_selection.candidates import Candidate as Candidate, Target as Target, known_load as known_load
from p2p_selection.cli._input import InputError as InputError, make_policy as make_policy, read_sources as read_sources
from p2p_selection.cli._output import number as number, print_columns as print_columns, print_json as print_json
from p2p_selection.filtering import CandidateFilter as CandidateFilter
from p2p_selection.pipeline import SelectionPipeline as SelectionPipeline
from p2p_selection.policies import LEAST_CAPACITY as LEAST_CAPACITY
from pathlib import Path
from typing import Annotated

SCHEMA: str

def simulate(file: Annotated[Path | None, None] = None, /, *, pullers: int = 200, model: str | None = None, rank: int = 0, policy: str | None = None, load_weight: float | None = None, json_lines: Annotated[bool, None] = False) -> int: ...
