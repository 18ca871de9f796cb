"""An engine embedded in another program, such as a trainer or a batch job: it never owns a reporter."""

from loadmonitor_worker.config import ReporterConfig
from loadmonitor_worker.errors import ServingModeError


def refuse_reporter(config: ReporterConfig) -> None:
    """Refuse settings that switch reporting on; call it where an engine without a server of its own starts.

    No router can send requests to such an engine, so a report of its load would attract requests that nobody serves; and
    programs with several engines would fight for one port. Ignoring the setting would leave a router dialling for ever.

    Raises:
        ServingModeError: `config.port` isn't None.
    """
    if config.port is not None:
        raise ServingModeError(
            f"load reporting is on (port={config.port}), but an embedded engine has no server that routers could send "
            "requests to: pass port=None; to watch its load, run `loadmonitor-worker serve` beside it"
        )
