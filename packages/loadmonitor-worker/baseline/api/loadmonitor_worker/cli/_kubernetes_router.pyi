from collections.abc import Mapping
from loadmonitor_worker.cli._kubernetes_parts import METRICS_PORT_NAME as METRICS_PORT_NAME, downward as downward, liveness_probe as liveness_probe, metadata as metadata, scrape_annotations as scrape_annotations, security_context as security_context
from loadmonitor_worker.cli._side_port import METRICS as METRICS, SIDE_PORT as SIDE_PORT
from loadmonitor_worker.cli._yaml import Node as Node

def router_objects(*, name: str, namespace: str | None, image: str, part_of: str, annotate: bool) -> list[dict[str, Node]]: ...
def pod_monitor(*, name: str, namespace: str | None, part_of: str, labels: Mapping[str, str]) -> dict[str, Node]: ...
