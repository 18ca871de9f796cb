"""What a worker is, as it is told to a router."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, Field, SecretStr, model_validator

from router_lifecycle._keys import check_key
from router_lifecycle.urls import normalize_worker_url

WorkerType: TypeAlias = Literal["regular", "prefill", "decode"]
"""What a worker serves; a prefill worker hands its KV cache over through its bootstrap port."""


def _usable_key(key: SecretStr | None) -> SecretStr | None:
    """Return the key, or None for an empty one: `Bearer` with nothing behind it is no authorisation."""
    secret = key.get_secret_value() if key else ""
    check_key(secret)
    return key if secret else None


# hide_input_in_errors: the input of a failed check can be the whole spec, with the key.
class WorkerSpec(BaseModel, frozen=True, strict=True, extra="forbid", hide_input_in_errors=True):
    """A worker to register, checked before any request; immutable and hashable.

    Values are taken as they are: no text becomes a number, no unknown field is dropped. Messages never repeat what was given,
    other than the URL, because it may hold the key (pydantic's `errors()` does, unless it is told `include_input=False`). A
    pickle holds the key; a dump (`model_dump`, `model_dump_json`) doesn't, so a spec that is loaded from one has none.

    Attributes:
        url: Where the router reaches the worker; kept in its canonical spelling, see `normalize_worker_url`.
        worker_type: What it serves.
        bootstrap_port: Port of the KV hand-over, 1 to 65535; required for a prefill worker, refused for the others.
        model_id: Name to list the model under, or None for the one that the router reads from the worker. SMG ignores it.
        api_key: The key that the worker asks for; None or "" for none. A router never passes on its own.
        labels: Texts for the router's bookkeeping.
        priority: 0 to 2**32 - 1, or None for the router's default, which is 50.
        cost: 0 or above, or None for the router's default, which is 1.0.

    Raises:
        pydantic.ValidationError: A value is out of range, of another type or misspelt, or doesn't go with another.
    """

    url: Annotated[str, AfterValidator(normalize_worker_url)]
    worker_type: WorkerType = "regular"
    bootstrap_port: int | None = Field(default=None, ge=1, le=65_535)
    model_id: str | None = Field(default=None, min_length=1)
    # Left out of dumps: it would come back as the key "**********".
    api_key: Annotated[SecretStr | None, AfterValidator(_usable_key)] = Field(default=None, exclude=True, strict=False)
    labels: Mapping[str, str] = Field(default_factory=dict)
    priority: int | None = Field(default=None, ge=0, le=2**32 - 1)
    cost: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _bootstrap_port_goes_with_prefill(self) -> Self:
        if (self.worker_type == "prefill") != (self.bootstrap_port is not None):
            raise ValueError(
                f"worker_type={self.worker_type!r} with bootstrap_port={self.bootstrap_port!r} is not allowed for {self.url}: "
                "a prefill worker needs a bootstrap_port, no other worker has one"
            )
        return self

    def __hash__(self) -> int:
        return hash(self.url)

    def request_body(self) -> dict[str, object]:
        """Return the JSON object that registers this worker with `POST /workers`.

        What isn't set is left out, so that the router's defaults apply. The key is in it, in the clear.
        """
        body: dict[str, object] = self.model_dump(exclude_none=True, exclude={"labels"} if not self.labels else None)
        if self.api_key is not None:
            body["api_key"] = self.api_key.get_secret_value()
        return body
