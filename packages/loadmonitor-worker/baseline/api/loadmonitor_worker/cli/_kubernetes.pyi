from collections.abc import Sequence
from dataclasses import dataclass
from loadmonitor_worker.cli._kubernetes_parts import DOWNWARD as DOWNWARD, GRPC_PORT_NAME as GRPC_PORT_NAME, METRICS_PORT_NAME as METRICS_PORT_NAME, downward as downward, liveness_probe as liveness_probe, metadata as metadata, scrape_annotations as scrape_annotations, security_context as security_context
from loadmonitor_worker.cli._settings import SidecarConfig as SidecarConfig
from loadmonitor_worker.cli._side_port import DRAIN as DRAIN
from loadmonitor_worker.cli._yaml import Node as Node, to_yaml as to_yaml
from loadmonitor_worker.config import WorkerType as WorkerType
from loadmonitor_worker.settings import LoadedSettings as LoadedSettings, environment_of as environment_of
from typing import Final

CONTAINER: Final[str]
GRACE_SECONDS: Final[int]

@dataclass(frozen=True, slots=True, kw_only=True)
class PodPlan:
    settings: LoadedSettings[SidecarConfig]
    image: str
    plain: bool
    run_as_user: int
    drain_seconds: int | None
    part_of: str
    scrape_annotations: bool
    @property
    def ports(self) -> dict[str, int]: ...
    @property
    def labels(self) -> dict[str, Node]: ...
    @property
    def shares_memory(self) -> bool: ...

def sidecar_objects(plan: PodPlan, *, name: str, namespace: str | None, engine_image: str, engine_command: Sequence[str], engine_port: int, gpus: int) -> list[dict[str, Node]]: ...
def component(plan: PodPlan, *, name: str, engine_container: str) -> dict[str, Node]: ...
