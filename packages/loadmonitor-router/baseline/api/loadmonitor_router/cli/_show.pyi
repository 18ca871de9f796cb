from loadmonitor_router.age import Freshness as Freshness
from loadmonitor_router.cli._fleet import Worker as Worker
from loadmonitor_router.cli._follow import Watch as Watch
from loadmonitor_router.cli._output import make_output as make_output
from loadmonitor_router.cli._record import Record as Record, Seen as Seen
from loadmonitor_router.cli._workers import named as named
from loadmonitor_router.discovery import StaticDiscovery as StaticDiscovery

async def run_show(*, is_terminal: bool) -> int: ...
