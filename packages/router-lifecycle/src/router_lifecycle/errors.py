"""The errors of router_lifecycle.

RouterLifecycleError
└── InvalidWorkerURLError    a text can't be registered as the URL of a worker; nothing was sent

`WorkerSpec` is a pydantic model: what it refuses is a `pydantic.ValidationError`, which carries the error above for its `url`.
"""


class RouterLifecycleError(Exception):
    """Base of every error that router_lifecycle raises."""


class InvalidWorkerURLError(RouterLifecycleError, ValueError):
    """A text can't be registered as the URL of a worker.

    Attributes:
        url: The text, with a user name, password or query replaced by `***`, since messages end up in logs.
        reason: Why it can't, and what to do, as half a sentence.
    """

    def __init__(self, url: str, reason: str) -> None:
        """Give the text, without its secrets, and what is wrong with it."""
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        """Say what was received, what is wrong with it and what is allowed, in one line."""
        return (
            f"worker URL {self.url!r} is not allowed, {self.reason}; "
            "allowed is http, https or grpc with host and port, such as http://10.0.0.1:30000"
        )
