"""`loadmonitor-worker drain`: for a preStop hook. Has the `serve` beside it tell routers DRAINING, and waits for the engine."""

import http.client
import json
import sys
from typing import Annotated

from cyclopts import Parameter

from loadmonitor_worker._listen import format_address
from loadmonitor_worker.cli._settings import ServeFlags, SourceFlags, sidecar_settings
from loadmonitor_worker.cli._side_port import DRAIN, DRAIN_SECONDS, SIDE_PORT
from loadmonitor_worker.errors import ConfigError

_CONNECT_SECONDS = 5.0
_SLACK_SECONDS = 5.0
_MOST_SECONDS = 86_400.0
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what is listened on everywhere is asked here


def drain(
    *,
    timeout_seconds: Annotated[float, Parameter(name="--timeout")] = DRAIN_SECONDS,
    http_listen: str | None = None,
) -> int:
    """Have a running `serve --http-listen` tell routers DRAINING, and wait until its engine has nothing to do.

    Exits 0 when every router knew and the engine then ran nothing for a second; 1 when the limit came first, with what was in
    the way, or when no `serve` answers. `serve` goes on telling DRAINING until it is stopped: SIGTERM, which Kubernetes sends
    when the hook has ended, says goodbye.

    Args:
        timeout_seconds: The limit, in seconds; it counts in a pod's terminationGracePeriodSeconds, which should be 10 s longer.
        http_listen: What `serve` was given as --http-listen; by default LOADMONITOR_HTTP_LISTEN, or 127.0.0.1:9464. A `serve` on
            another machine needs --remote-drain.
    """
    if not 0 <= timeout_seconds <= _MOST_SECONDS:
        raise ConfigError(f"--timeout {timeout_seconds} is not allowed: 0 to {_MOST_SECONDS:.0f} is")
    # The same variables as the `serve` beside it; the source is none of a drain's business, so that any will do.
    settings = sidecar_settings(SourceFlags(source="synthetic"), ServeFlags(http_listen=http_listen))
    http_port = SIDE_PORT if settings.config.http_port is None else settings.config.http_port
    http_host = _LOOPBACK.get(settings.config.http_host, settings.config.http_host)
    if not 1 <= http_port <= 65_535:
        raise ConfigError(f"--http-listen: {http_port} is not a TCP port that can be asked: 1 to 65535 is")
    address = format_address(http_host, http_port)
    try:
        status, body = _post(http_host.strip("[]"), http_port, timeout_seconds)
    except (OSError, http.client.HTTPException) as error:
        reason = str(error).strip() or type(error).__name__
        return _failed(f"no answer from {address} ({reason}): `serve --http-listen {address}` must run there")
    try:
        answer = json.loads(body)
        idle, reason, waited = bool(answer["idle"]), answer["reason"], float(answer["waited_seconds"])
    except (ValueError, TypeError, KeyError):
        return _failed(f"{address} answered {status}: {body[:200].decode(errors='replace').strip()}")
    if not idle:
        return _failed(f"not idle after {waited:.1f} s: {reason}")
    sys.stdout.write(f"idle after {waited:.1f} s\n")
    return 0


def _post(host: str, port: int, timeout_seconds: float) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
    try:
        connection.connect()
        connection.sock.settimeout(timeout_seconds + _SLACK_SECONDS)
        connection.request("POST", f"{DRAIN}?timeout_seconds={timeout_seconds}")
        response = connection.getresponse()
        return response.status, response.read(65_536)
    finally:
        connection.close()


def _failed(message: str) -> int:
    sys.stderr.write(f"loadmonitor-worker: {message}\n")
    return 1
