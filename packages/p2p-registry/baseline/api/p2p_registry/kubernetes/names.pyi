from _typeshed import Incomplete
from typing import Final

GROUP: Final[str]
VERSION: Final[str]
KIND: Final[str]
PLURAL: Final[str]
API_VERSION: Final[Incomplete]
SOURCE_LABEL: Final[Incomplete]
WORKER_LABEL: Final[Incomplete]
RANK_LABEL: Final[Incomplete]
IDENTITY_ANNOTATION: Final[str]
WORKER_ANNOTATION: Final[str]

def object_name(source_id: str, worker_id: str) -> str | None: ...
def is_plain(worker_id: str) -> bool: ...
def ids_of(name: str, annotated_worker_id: str | None) -> tuple[str, str] | None: ...
def config_map_name(name: str, worker_rank: int) -> str: ...
