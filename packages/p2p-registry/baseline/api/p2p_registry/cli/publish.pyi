from collections.abc import Callable as Callable, Sequence
from cyclopts import Parameter as Parameter
from p2p_registry.cli._connecting import NO_FLAGS as NO_FLAGS, RegistryFlags as RegistryFlags
from p2p_registry.cli._output import print_json as print_json, print_line as print_line
from p2p_registry.cli._stopping import stop_signals as stop_signals
from p2p_registry.errors import SettingError as SettingError
from p2p_registry.identity import BackendFramework as BackendFramework, SourceIdentity as SourceIdentity, SourceType as SourceType
from p2p_registry.publisher import SourcePublisher as SourcePublisher
from p2p_registry.publishing import PublisherSettings as PublisherSettings, PublisherState as PublisherState
from p2p_registry.registration import Registration as Registration, new_worker_id as new_worker_id
from p2p_registry.wire import WorkerMetadata as WorkerMetadata
from pathlib import Path
from typing import Annotated, Final

SCHEMA: Final[str]

def run_publish(model: str, /, *, flags: RegistryFlags = ..., rank: int = 0, worker_id: str | None = None, metadata_endpoint: str = '', worker_grpc_endpoint: str = '', agent_name: str = '', transfer_engine_session_id: str = '', accelerator: str = '', topology: Sequence[str] = (), source_type: str = 'weights', framework: str = 'unknown', tensor_parallel_size: int = 0, pipeline_parallel_size: int = 0, expert_parallel_size: int = 0, dtype: str = '', quantization: str = '', revision: str = '', mx_version: str = '', extra: Sequence[str] = (), load_file: Path | None = None, max_load_age_seconds: float = 30.0, heartbeat_seconds: float = 30.0, json_lines: Annotated[bool, None] = False) -> int: ...
def load_of(file: Path, max_age_seconds: float) -> Callable[[], float | None]: ...
