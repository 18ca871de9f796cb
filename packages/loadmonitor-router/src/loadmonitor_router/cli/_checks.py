"""Checks of what commands are told."""

from loadmonitor_router.errors import ConfigError


def check_timeout(seconds: float, flag: str = "--timeout") -> None:
    """Raise ConfigError unless the time is above 0."""
    if not seconds > 0:
        raise ConfigError(f"{flag} {seconds} is not allowed: a number of seconds above 0 is")
