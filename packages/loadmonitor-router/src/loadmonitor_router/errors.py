"""The errors of loadmonitor_router.

LoadMonitorRouterError
├── ConfigError           a setting is out of range; nothing was dialled
│   ├── CredentialFileError   a certificate, key or token file can't be used
│   └── DuplicateWorkerError  two of the workers given are one; nothing was changed
├── ClientStateError      a client or monitor was used outside its `async with` block, or entered twice
│   └── ForkedProcessError    this process was forked while gRPC was in use: here it would hang
├── DiscoveryError        a look for Workers failed; the last good set stands
│   ├── WorkerListError       what was found isn't a list of Workers
│   └── WatchExpiredError     a watch can't go on where it was; everything is listed again
├── InvalidReportError    a report breaks the contract; it is dropped and counted, the stream lives on
├── MissingExtraError     an optional dependency of the requested feature is not installed
├── NoReporterError       no load reporter answers at the address, so there is nothing to judge
├── NoWorkerError         none of the candidates may be picked; it says why of each
└── StreamRefusedError    the Worker refuses this registration for good; it isn't dialled again

A lost connection is no error to the caller: the client dials again and says why in `MonitorClient.connection`. Neither is
a look for Workers that fails: the discovery looks again and says why in `last_error`.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

_NAMED_IN_MESSAGE = 8


class DropReason(StrEnum):
    """Why a report was dropped instead of being handed over; the keys of `Connection.dropped`."""

    NO_SOURCE_INSTANCE = "no_source_instance"
    """`source_instance_id` is blank, so the report can't be ordered."""
    NO_STATUS = "no_status"
    """`status` is unspecified, or a number this version doesn't know."""
    DUPLICATE_RANK = "duplicate_rank"
    """Two entries carry one `dp_rank`."""
    NEGATIVE = "negative"
    """A rank, count, rate or time is below zero."""
    NOT_FINITE = "not_finite"
    """A number is NaN or infinite."""
    OVER_CAPACITY = "over_capacity"
    """More tokens used, or requests running, than the rank says it has room for."""
    NOT_UNKNOWABLE = "not_unknowable"
    """A rank calls a field unknown that it tells, or that must be told."""
    UNREACHABLE_WITH_RANKS = "unreachable_with_ranks"
    """The engine couldn't be read, yet there are numbers."""
    UNREACHABLE_WITHOUT_ERROR = "unreachable_without_error"
    """The engine couldn't be read, and `last_error` doesn't say why."""
    NO_RANKS = "no_ranks"
    """HEALTHY or STALE without a single rank."""
    OUT_OF_ORDER = "out_of_order"
    """The source instance has sent this sequence number, or a later one, before."""
    RETIRED_INSTANCE = "retired_instance"
    """A newer source instance has reported since."""


class LoadMonitorRouterError(Exception):
    """Base of every error that loadmonitor_router raises.

    What to do: read the message, which names what was received, what is allowed and what to change.
    """


class ConfigError(LoadMonitorRouterError, ValueError):
    """A setting is out of range; the message names the setting, the value received and what is allowed."""


class CredentialFileError(ConfigError):
    """A certificate, key or token file can't be used; the message names the file and never shows what is in it.

    A client that dials takes it for a lost connection, because files are exchanged: `Connection.last_error` has the message.

    What to do: mend the file; it is read again at the next dialling.

    Attributes:
        setting: The setting that names the file.
        path: The file.
    """

    def __init__(self, setting: str, path: Path, why: str) -> None:
        """Name the setting, the file and what is wrong with it."""
        super().__init__(f"{setting}={path} can't be used: {why}")
        self.setting = setting
        self.path = path


class DuplicateWorkerError(ConfigError):
    """Two of the workers given have one url, or one load reporter, however they spell it.

    What to do: give each worker once; what was given before stays in force.

    Attributes:
        first: The url of the one, as it was given.
        second: The url of the other, as it was given.
    """

    def __init__(self, message: str, *, first: str, second: str) -> None:
        """Name both."""
        super().__init__(message)
        self.first = first
        self.second = second


class ClientStateError(LoadMonitorRouterError, RuntimeError):
    """A client or a monitor was used outside its `async with` block, or entered while it is open.

    What to do: use the object inside its one `async with` block, and make a new one for another.
    """


class ForkedProcessError(ClientStateError):
    """This process was forked while gRPC was in use; what waits for gRPC here would hang. Says what to do instead.

    What to do: start the process by spawn or forkserver, or fork before the first use.
    """


class InvalidReportError(LoadMonitorRouterError, ValueError):
    """A report breaks the contract and must not be used; the message says what is wrong with it.

    What to do: mend the Worker; a client drops such a report by itself and goes on.

    Attributes:
        reason: A stable word for the kind of fault.
        field: The field at fault, by its wire name.
        dp_rank: The rank at fault, or None when the report as a whole is.
    """

    def __init__(self, reason: DropReason, message: str, *, field: str, dp_rank: int | None = None) -> None:
        """Give the stable word, the sentence and what they are about."""
        super().__init__(message)
        self.reason = reason
        self.field = field
        self.dp_rank = dp_rank


class NoReporterError(LoadMonitorRouterError):
    """Nothing answers at the address, or what does has no load reporter; the message says which.

    What to do: check host and port: `loadmonitor explain HOST:PORT` goes hop by hop.
    """


class NoWorkerError(LoadMonitorRouterError):
    """None of the candidates may be picked.

    What to do: wait for a worker to become fresh, or pick with `when_none_fresh="fail_open"`.

    Attributes:
        excluded: Why not, by candidate as a string: its url, or `url@rank`. Empty when there was no candidate.
    """

    def __init__(self, excluded: Mapping[str, str]) -> None:
        """Give the reason of each candidate; the message names the first few."""
        named = [f"{name} ({why})" for name, why in list(excluded.items())[:_NAMED_IN_MESSAGE]]
        if len(excluded) > _NAMED_IN_MESSAGE:
            named.append(f"and {len(excluded) - _NAMED_IN_MESSAGE} more, all in .excluded")
        super().__init__(f"no worker to pick: {'; '.join(named) or 'there were no candidates'}")
        self.excluded = excluded


class StreamRefusedError(LoadMonitorRouterError):
    """The Worker answered with a terminal code: the same registration would be refused again.

    What to do: mend what the code names, an id, a setting or a permission; then dial again.

    Attributes:
        address: The Worker that was dialled.
        code: The Worker's code, such as `INVALID_ARGUMENT` or `PERMISSION_DENIED`.
    """

    def __init__(self, address: str, code: str, message: str) -> None:
        """Name the Worker, its code and its own words."""
        super().__init__(f"{address} refuses this router: {code}: {message or 'no reason given'}")
        self.address = address
        self.code = code


class DiscoveryError(LoadMonitorRouterError):
    """A look for Workers failed; the last good set stands, and the text becomes the discovery's `last_error`.

    What to do: nothing at once, since the next look comes by itself; when it lasts, check the place that is looked at.
    """


class WorkerListError(DiscoveryError, ValueError):
    """What was found isn't a list of Workers; the message says what was received and what is allowed."""


class WatchExpiredError(DiscoveryError):
    """The API server no longer knows the version that a watch was to go on from: list again.

    What to do: list again; a `KubernetesDiscovery` does so by itself.
    """


class MissingExtraError(LoadMonitorRouterError, ImportError):
    """A feature was asked for whose optional dependency is absent; the message names the extra to install.

    What to do: install the extra that the message names.
    """

    def __init__(self, feature: str, extra: str) -> None:
        """Name the feature that was asked for and the extra that brings it."""
        super().__init__(f"{feature} needs an optional dependency: pip install 'loadmonitor-router[{extra}]'")
        self.feature = feature
        self.extra = extra
