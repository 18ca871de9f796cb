from loadmonitor_router._redaction import without_password as without_password
from loadmonitor_router.discovery.targets import target_set as target_set, worker_target as worker_target, worker_type_of as worker_type_of
from loadmonitor_router.errors import ConfigError as ConfigError, WorkerListError as WorkerListError
from loadmonitor_router.snapshot import WorkerTarget as WorkerTarget

REPORTER_PORT_LABEL: str

def parse_worker_list(body: bytes, reporter_port: int) -> tuple[WorkerTarget, ...]: ...
