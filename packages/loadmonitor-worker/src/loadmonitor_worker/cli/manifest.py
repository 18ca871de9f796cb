"""`loadmonitor-worker manifest`: Kubernetes objects for the sidecar and for what looks at it, made from the settings' own names."""

import sys
from dataclasses import asdict, dataclass
from typing import Annotated

from cyclopts import Parameter

from loadmonitor_worker.cli._kubernetes import PodPlan, sidecar_objects
from loadmonitor_worker.cli._kubernetes import component as component_of
from loadmonitor_worker.cli._kubernetes_router import pod_monitor, router_objects
from loadmonitor_worker.cli._options import refuse_foreign_settings
from loadmonitor_worker.cli._settings import NO_SERVE_FLAGS, NO_SOURCE_FLAGS, ServeFlags, SidecarConfig, SourceFlags
from loadmonitor_worker.cli._side_port import SIDE_PORT
from loadmonitor_worker.cli._yaml import to_yaml
from loadmonitor_worker.errors import ConfigError
from loadmonitor_worker.settings import LoadedSettings, load_settings

_EVERYWHERE = "0.0.0.0"  # noqa: S104 - routers, kubelets and scrapers come from outside the pod
_NOBODY = 65_532


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PodFlags:
    """What a pod with a sidecar is to be.

    Args:
        image: The sidecar's image; it has the command loadmonitor-worker.
        name: Name of the engine's Deployment and Service.
        part_of: Value of the label app.kubernetes.io/part-of, by which `manifest router` and `manifest monitor` find the pods.
        engine_port: Where the engine serves requests.
        plain: Put the sidecar into `containers`, for clusters without native sidecars (before Kubernetes 1.29).
        run_as_user: The sidecar's user. By default 0 with --source sglang-shm, whose file only the engine's user may read, else
            65532.
        drain_seconds: Have the engine's end wait so long, at most, until routers know and its requests are done; sets the pod's
            terminationGracePeriodSeconds to 10 more. By default it doesn't wait.
        scrape_annotations: Annotate the pods with prometheus.io/scrape, for a Prometheus without an operator.
    """

    image: str
    name: str = "engine"
    part_of: str = "inference"
    engine_port: int = 30_000
    plain: bool = False
    run_as_user: int | None = None
    drain_seconds: int | None = None
    scrape_annotations: bool = False


def sidecar(
    *engine_command: str,
    pod: PodFlags,
    engine_image: str,
    gpus: int = 1,
    namespace: str | None = None,
    source_flags: SourceFlags = NO_SOURCE_FLAGS,
    serve_flags: ServeFlags = NO_SERVE_FLAGS,
) -> int:
    """Print a Deployment of an engine with its sidecar, and the Service by which routers find it.

    The sidecar's settings are given as to `serve`, by flags only, and become its environment. By default it reads SGLang's
    shared memory.

    Args:
        engine_command: After `--`, the engine's command, where its image's own isn't meant.
        pod: What the pod is to be.
        engine_image: The engine's image.
        gpus: GPUs of the engine.
        namespace: Their namespace; by default kubectl's.
        source_flags: Where the load is read. Files that flags name have to be mounted besides.
        serve_flags: Who is served, and how.
    """
    objects = sidecar_objects(
        _plan(pod, source_flags, serve_flags),
        name=pod.name,
        namespace=namespace,
        engine_image=engine_image,
        engine_command=engine_command,
        engine_port=pod.engine_port,
        gpus=gpus,
    )
    sys.stdout.write(to_yaml(objects))
    return 0


def component(
    *,
    pod: PodFlags,
    engine_container: str = "engine",
    source_flags: SourceFlags = NO_SOURCE_FLAGS,
    serve_flags: ServeFlags = NO_SERVE_FLAGS,
) -> int:
    """Print a Kustomize component that gives a Deployment you have a sidecar, and its Service the port that routers look for.

    Save it as kustomization.yaml in a folder of its own, and name that folder under `components`.

    Args:
        pod: What the pod is to be.
        engine_container: Name of the engine's container in the Deployment.
        source_flags: Where the load is read. Files that flags name have to be mounted besides.
        serve_flags: Who is served, and how.
    """
    plan = _plan(pod, source_flags, serve_flags)
    sys.stdout.write(to_yaml([component_of(plan, name=pod.name, engine_container=engine_container)]))
    return 0


def router(
    *,
    image: str,
    name: str = "loadmonitor",
    namespace: str | None = None,
    part_of: str = "inference",
    scrape_annotations: bool = False,
) -> int:
    """Print a Deployment of `loadmonitor export` that finds the Workers of its namespace, and the Role that lets it.

    Args:
        image: Its image; it has the command loadmonitor of loadmonitor-router[cli,kubernetes,prometheus].
        name: Name of the objects.
        namespace: Their namespace; by default kubectl's.
        part_of: Value of the label app.kubernetes.io/part-of that the engines' Services have.
        scrape_annotations: Annotate the pod with prometheus.io/scrape, for a Prometheus without an operator.
    """
    objects = router_objects(name=name, namespace=namespace, image=image, part_of=part_of, annotate=scrape_annotations)
    sys.stdout.write(to_yaml(objects))
    return 0


def monitor(
    *,
    name: str = "loadmonitor",
    namespace: str | None = None,
    part_of: str = "inference",
    label: Annotated[tuple[str, ...], Parameter(consume_multiple=False)] = (),
) -> int:
    """Print a PodMonitor, by which the Prometheus operator scrapes sidecars and exporter.

    Args:
        name: Its name.
        namespace: Its namespace, that of the pods; by default kubectl's.
        part_of: Value of the label app.kubernetes.io/part-of that the pods have.
        label: NAME=VALUE that your Prometheus selects monitors by, such as release=prometheus; may be repeated.
    """
    pairs = [text.partition("=") for text in label]
    if wrong := [text for text, (before, sign, _) in zip(label, pairs, strict=True) if not (before and sign)]:
        raise ConfigError(f"--label {wrong[0]} is not allowed: NAME=VALUE is")
    labels = {before: value for before, _, value in pairs}
    sys.stdout.write(to_yaml([pod_monitor(name=name, namespace=namespace, part_of=part_of, labels=labels)]))
    return 0


def _plan(pod: PodFlags, source: SourceFlags, serve: ServeFlags) -> PodPlan:
    if pod.drain_seconds is not None and pod.drain_seconds < 1:
        raise ConfigError(f"--drain-seconds {pod.drain_seconds} is not allowed: at least 1 is")
    flags = asdict(source) | asdict(serve)
    code: dict[str, object] = {
        "source": "sglang-shm",
        "host": _EVERYWHERE,
        "http_host": _EVERYWHERE,
        "http_port": SIDE_PORT,
        "worker_addr": f"http://$(POD_IP):{pod.engine_port}",
        "log_format": "json",
    }
    if (flags["source"] or "sglang-shm") not in ("sglang-shm", "synthetic"):
        code["engine_url"] = f"http://127.0.0.1:{pod.engine_port}"
    if pod.drain_seconds is not None:
        code["remote_drain"] = True  # the kubelet asks, from outside the pod
    settings = load_settings(SidecarConfig, code=code, flags=flags)
    refuse_foreign_settings(settings)
    _refuse_what_cannot_be_reached(settings)
    shares_memory = settings.config.source == "sglang-shm"
    return PodPlan(
        settings=settings,
        image=pod.image,
        plain=pod.plain,
        run_as_user=(0 if shares_memory else _NOBODY) if pod.run_as_user is None else pod.run_as_user,
        drain_seconds=pod.drain_seconds,
        part_of=pod.part_of,
        scrape_annotations=pod.scrape_annotations,
    )


def _refuse_what_cannot_be_reached(settings: LoadedSettings[SidecarConfig]) -> None:
    config = settings.config
    for name in ("host", "http_host"):
        host = getattr(config, name)
        if host.strip("[]") in ("localhost", "::1") or host.startswith("127."):
            raise ConfigError(f"{settings.origins[name]} {host} can't be reached from outside the pod: leave it out")
    if not config.port or not config.http_port or config.port == config.http_port:
        raise ConfigError(
            f"port {config.port} of --listen and port {config.http_port} of --http-listen are not allowed: two ports are, neither "
            "of them 0"
        )
