"""The errors of loadmonitor_worker.

LoadReporterError
├── ConfigError               a setting is wrong, or its name is; nothing was started
│   ├── CredentialFileError       a certificate, key or token file can't be used
│   ├── MissingSettingError       a setting without a default wasn't given
│   └── SettingError              the value of one setting isn't allowed
├── MissingExtraError         an optional dependency of the requested feature is not installed
├── BindError                 the reporter's address can't be listened on
├── ForkedProcessError        this process was forked while gRPC was in use: here it would hang
├── ServingModeError          the reporter can't run where it was asked to
│   └── MissingHookError          the installed servicer doesn't tell when its request manager is ready
└── SourceError               this attempt to read the engine's load failed; the report says UNREACHABLE
    ├── SourceUnavailableError    the source isn't there, or its content can't be used yet
    └── InvalidSnapshotError      the source answered with a rank set that must not be reported

Source errors never reach the engine's request path: the reporter turns them into the report's `last_error`.
"""

from pathlib import Path


class LoadReporterError(Exception):
    """Base of every error that loadmonitor_worker raises.

    What to do: read the message, which names what was received, what is allowed and what to change.
    """


class ConfigError(LoadReporterError, ValueError):
    """A setting is out of range; the message names the setting, the value received and what is allowed."""


class CredentialFileError(ConfigError):
    """A certificate, key or token file can't be used; the message names the file and never shows what is in it.

    What to do: mend the file; a running reporter keeps the one that worked.

    Attributes:
        setting: The setting that names the file.
        path: The file.
    """

    def __init__(self, setting: str, path: Path, why: str) -> None:
        """Name the setting, the file and what is wrong with it."""
        super().__init__(f"{setting}={path} can't be used: {why}")
        self.setting = setting
        self.path = path


class MissingSettingError(ConfigError):
    """A setting without a default wasn't given; the message says how to give it.

    What to do: give the setting, by the flag or the variable that the message names.
    """


class SettingError(ConfigError):
    """The value of one setting isn't allowed, by itself or beside another.

    Attributes:
        setting: The setting's name in code.
        value: What it was given.
        rule: What is wrong and what is allowed, as the end of a sentence that starts with setting and value.
        related: Other settings that the rule speaks of.
    """

    def __init__(self, setting: str, value: object, rule: str, *, related: tuple[str, ...] = ()) -> None:
        """Give the parts of the sentence."""
        super().__init__(f"{setting}={value!r} {rule}")
        self.setting = setting
        self.value = value
        self.rule = rule
        self.related = related


class MissingExtraError(LoadReporterError, ImportError):
    """A feature was asked for whose optional dependency is absent; the message names the extra to install.

    What to do: install the extra that the message names, or switch reporting off.
    """

    def __init__(self, feature: str, extra: str) -> None:
        """Name the feature that was asked for and the extra that brings it."""
        super().__init__(f"{feature} needs an optional dependency: pip install 'loadmonitor-worker[{extra}]'")
        self.feature = feature
        self.extra = extra


class BindError(LoadReporterError, OSError):
    """The reporter can't listen on the address it was given; nothing is left half-started.

    What to do: choose another port, or end who holds this one.
    """

    def __init__(self, address: str, reason: str) -> None:
        """Name the address and why it can't be used."""
        super().__init__(f"cannot listen on {address}: {reason}")
        self.address = address
        self.reason = reason


class ForkedProcessError(LoadReporterError, RuntimeError):
    """This process was forked while gRPC was in use; a reporter would hang here. Says what to do instead.

    What to do: start the process by spawn or forkserver, or fork before the reporter is started.
    """


class ServingModeError(LoadReporterError):
    """The reporter was asked for in a way that its serving mode doesn't allow; the message says which one does.

    What to do: start the reporter by the owner that fits how the engine serves: see the serving modes.
    """


class MissingHookError(ServingModeError):
    """The installed servicer has no readiness hook, so a reporter would never start; upgrade it.

    What to do: upgrade the servicer, or switch reporting off.

    Attributes:
        package: The servicer's package.
        version: Its installed version, or None when it isn't installed as one.
    """

    def __init__(self, package: str, version: str | None, hook: str) -> None:
        """Name the servicer, its version and the hook it lacks."""
        super().__init__(
            f"load reporting is on, but {package} {version or '(version unknown)'} takes no {hook!r} callback, so that the "
            "reporter would never start: upgrade it (smg-grpc-servicer 0.5.5 has it), or switch reporting off"
        )
        self.package = package
        self.version = version


class SourceError(LoadReporterError):
    """The engine's load could not be read on this attempt; the text becomes the report's `last_error`.

    What to do: nothing in the engine; beside it, `loadmonitor-worker check` says which hop fails.
    """


class SourceUnavailableError(SourceError):
    """The source isn't there or can't be used yet: no file, no permission, another version, a torn slot.

    Attributes:
        reason: A stable word for the kind of failure, such as `no_file`; the message is for people.
    """

    def __init__(self, reason: str, message: str) -> None:
        """Give the stable word and the sentence."""
        super().__init__(message)
        self.reason = reason


class InvalidSnapshotError(SourceError):
    """The source answered with a rank set that must not be reported; names the rank and the field.

    What to do: mend the source; what `overshoot="clamp"` caps is reported all the same.

    Attributes:
        dp_rank: The rank at fault, or None when the set as a whole is.
        field: The field at fault, or None when a whole rank is.
    """

    def __init__(self, message: str, *, dp_rank: int | None = None, field: str | None = None) -> None:
        """Give the sentence and what it is about."""
        super().__init__(message)
        self.dp_rank = dp_rank
        self.field = field
