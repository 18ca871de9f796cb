"""Opens the store that a URL names."""

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from p2p_registry.errors import InvalidBackendUrlError, MissingExtraError
from p2p_registry.interfaces import Backend
from p2p_registry.memory import MemoryBackend
from p2p_registry.snapshot_backend import SnapshotBackend


async def open_backend(url: str) -> Backend:
    """Open the store that `url` names, for the event loop that runs; `Backend.aclose` ends it.

    - `memory`: in this process, forgotten when it ends.
    - `memory:///PATH`: the same, saved to a file every few seconds and read from it at the start; see `SnapshotBackend`.
    - `redis://[USER:PASSWORD@]HOST[:PORT][/DB]`, `rediss://` with TLS, `unix://[USER:PASSWORD@]/PATH[?db=DB]`: Redis, dialled when
      it is needed, so that a registry starts before its store; `Backend.ping` tells whether it is there. See `RedisBackend`.
    - `kubernetes://NAMESPACE`: custom resources in a namespace of the cluster that the service account, KUBECONFIG or ~/.kube/config
      names, dialled when it is needed. See `p2p_registry.kubernetes`.

    Args:
        url: One of the above.

    Raises:
        BackendError: The file can't be used, or nothing names a cluster.
        InvalidBackendUrlError: `url` names no store.
        MissingExtraError: What the store needs isn't installed.
    """
    scheme = url.partition(":")[0]
    opener = _OPENERS.get(scheme)
    if opener is None:
        # Only what stands before the colon: a password may come after it.
        raise InvalidBackendUrlError(f"{scheme!r} is no kind of store; {', '.join(_OPENERS)} are")
    return await opener(url)


async def _open_memory(url: str) -> Backend:
    if url == "memory":
        return MemoryBackend()
    parts = urlsplit(url)
    if parts.netloc or parts.query or parts.fragment or not parts.path:
        raise InvalidBackendUrlError(
            "a store in memory is given as memory or memory:///PATH, with special letters of the path as %XX"
        )
    return await SnapshotBackend.open(Path(unquote(parts.path)))


async def _open_redis(url: str) -> Backend:
    try:
        from p2p_registry.redis_backend import RedisBackend  # noqa: PLC0415 - redis is an optional dependency
    except ModuleNotFoundError as error:
        raise MissingExtraError("a store in Redis", "redis") from error
    return RedisBackend(url)


async def _open_kubernetes(url: str) -> Backend:
    namespace = url.partition("://")[2]
    if not is_namespace(namespace):
        raise InvalidBackendUrlError(
            "a store in Kubernetes is given as kubernetes://NAMESPACE: lower-case letters, digits and - in between"
        )
    try:
        from p2p_registry.kubernetes import KubernetesBackend  # noqa: PLC0415
        from p2p_registry.kubernetes._lightkube import LightkubeApi  # noqa: PLC0415 - lightkube is an optional dependency
    except ModuleNotFoundError as error:
        raise MissingExtraError("a store in Kubernetes", "kubernetes") from error
    return KubernetesBackend(LightkubeApi(namespace), namespace)


def is_namespace(name: str) -> bool:
    """Tell whether a namespace of Kubernetes may be called so."""
    return len(name) <= _NAMESPACE_LENGTH and _NAMESPACE.fullmatch(name) is not None


_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAMESPACE_LENGTH = 63

_OPENERS: Mapping[str, Callable[[str], Awaitable[Backend]]] = {
    "memory": _open_memory,
    "redis": _open_redis,
    "rediss": _open_redis,
    "unix": _open_redis,
    "kubernetes": _open_kubernetes,
}
