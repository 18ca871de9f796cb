"""A program that ends with a stream open: by sys.exit in a coroutine, with the loop in a daemon thread, or while it dials."""

import asyncio
import sys
import threading

from loadmonitor_router import MonitorClient

mode, address = sys.argv[1:]


async def main(ready: threading.Event) -> None:
    """Open a stream and hold it."""
    client = MonitorClient(address, router_id="r")
    await client.__aenter__()
    if mode != "dialling":
        await anext(client)
    sys.stdout.write("open\n")
    sys.stdout.flush()
    if mode == "coroutine":
        sys.exit(3)
    ready.set()
    if mode != "dialling":
        await anext(client)
        await asyncio.sleep(60)
    await asyncio.sleep(0.1)


if mode == "thread":
    opened = threading.Event()
    threading.Thread(target=lambda: asyncio.run(main(opened)), daemon=True).start()
    opened.wait()
    sys.exit(3)
asyncio.run(main(threading.Event()))
sys.exit(3)
