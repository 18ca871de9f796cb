from cyclopts import Parameter as Parameter
from p2p_selection.candidates import Target as Target
from p2p_selection.cli._input import InputError as InputError, make_policy as make_policy, read_sources as read_sources
from p2p_selection.cli._output import number as number, print_columns as print_columns, print_json as print_json
from p2p_selection.explaining import Explanation as Explanation
from p2p_selection.pipeline import SelectionPipeline as SelectionPipeline
from p2p_selection.selection import Fate as Fate
from pathlib import Path
from typing import Annotated

SCHEMA: str

def explain(file: Annotated[Path, None], /, *, target: str, policy: str | None = None, load_weight: float | None = None, accelerator: str = '', endpoint: str | None = None, limit: int = 3, now_ms: int | None = None, json_lines: Annotated[bool, None] = False) -> int: ...
