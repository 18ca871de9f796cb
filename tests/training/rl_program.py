"""Runs docs/programs/rl_loop.py."""

import asyncio
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "docs" / "programs" / "rl_loop.py"


async def trained(*arguments: str) -> tuple[int | None, str]:
    """Run the loop to its end; return its status and what it printed."""
    command = (sys.executable, "-W", "error", str(PROGRAM), *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, output.decode()
