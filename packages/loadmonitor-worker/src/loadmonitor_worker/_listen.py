"""Can the reporter listen where it was told to: found out before gRPC is asked, whose answer doesn't say why."""

import asyncio
import errno
import os
import socket

from loadmonitor_worker.errors import BindError

_ADVICE = {
    errno.EADDRINUSE: "another process listens on that port, or this one already does; stop that or choose another port",
    errno.EACCES: "this user may not listen on that port; choose one above 1023",
    errno.EADDRNOTAVAIL: "no interface of this machine has that address; use 127.0.0.1, 0.0.0.0 or one of its own",
}


def format_address(host: str, port: int) -> str:
    """Return `host:port`, an IPv6 host in brackets."""
    bare = host.strip("[]")
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


async def check_bindable(host: str, port: int) -> None:
    """Bind and release every address that `host` names.

    Raises:
        BindError: One of them can't be bound, or the host has no address; says why and what to do.
    """
    address = format_address(host, port)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except socket.gaierror as exc:
        raise BindError(address, f"the host has no address ({exc.strerror})") from exc
    for family, kind, protocol, _, name in found:
        with socket.socket(family, kind, protocol) as probe:
            # As gRPC does, so that connections in TIME_WAIT don't count as a taken port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(name)
            except OSError as exc:
                code = exc.errno or 0
                raise BindError(address, _ADVICE.get(code, os.strerror(code))) from exc
