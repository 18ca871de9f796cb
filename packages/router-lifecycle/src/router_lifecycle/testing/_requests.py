"""What a router reads from the body of a request, and how it refuses one."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from router_lifecycle.errors import RouterLifecycleError
from router_lifecycle.testing._answers import Answer, error_answer, text_answer
from router_lifecycle.testing._state import PostedWorker, RouterState

_WORKER_TYPES = ("regular", "prefill", "decode")
_SMG_WORKER_TYPES = (*_WORKER_TYPES, "encode")
_ECHOED = ("tokenizer_path", "reasoning_parser", "tool_parser", "chat_template")
_SMG_SCHEMES = ("http://", "https://", "grpc://", "grpcs://", "ipc://")
_UNSIGNED = {"priority": ("u32", 2**32 - 1), "bootstrap_port": ("u16", 2**16 - 1)}
_SERDE_WORDS = {
    "Expecting property name enclosed in double quotes": "key must be a string",
    "Expecting value": "expected value",
}
_TEXTS = ("url", "api_key", "model_id", "worker_type", *_ECHOED)


class RefusedRequestError(RouterLifecycleError):
    """A body that the router doesn't take."""

    def __init__(self, answer: Answer) -> None:
        """Give the answer that refuses it."""
        super().__init__(answer.body.decode())
        self.answer = answer


def read_body(state: RouterState, content_type: str, body: bytes, *, needs_url: bool) -> dict[str, Any]:
    """Return the fields of a request, checked for their types as the release does.

    Raises:
        RefusedRequestError: The body isn't JSON, isn't an object, or a field has another type.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        if state.profile.is_smg:
            message = "Missing Content-Type: application/json header"
            raise RefusedRequestError(error_answer(400, message, "BAD_REQUEST"))
        raise RefusedRequestError(text_answer(415, "Expected request with `Content-Type: application/json`"))
    text = body.decode(errors="replace")
    try:
        fields = json.loads(text, object_pairs_hook=_once(state))
    except json.JSONDecodeError as error:
        why, column = _SERDE_WORDS.get(error.msg, error.msg), error.colno
        if error.pos >= len(text):
            why, column = f"EOF while parsing {_open_end(text)}", column - 1
        message = f"Failed to parse the request body as JSON: {why} at line {error.lineno} column {column}"
        if state.profile.is_smg:
            raise RefusedRequestError(error_answer(400, f"JSON syntax error: {message}", "BAD_REQUEST")) from None
        raise RefusedRequestError(text_answer(400, message)) from None
    if not isinstance(fields, dict):
        _refuse(state, f"invalid type: {_shown(fields)}, expected struct WorkerConfigRequest", len(text))
    if needs_url and "url" not in fields:
        _refuse(state, "missing field `url`", len(text))
    for name, value in fields.items():
        _check(state, text, name, value)
    return fields


def posted_worker(state: RouterState, fields: Mapping[str, Any]) -> PostedWorker:
    """Return the worker that a `POST /workers` describes.

    Raises:
        RefusedRequestError: SMG refuses the URL, the type or the cost; the others take anything.
    """
    url: str = fields["url"]
    if state.profile.is_smg:
        if not url:
            _bad_request("Invalid value for field 'worker_url':  - URL cannot be empty")
        if not url.startswith(_SMG_SCHEMES):
            allowed = "http://, https://, grpc://, grpcs://, or ipc://"
            _bad_request(
                f"Invalid value for field 'worker_url': {url} - URL must start with a lowercase {allowed} scheme"
            )
        if (cost := fields.get("cost")) is not None and cost <= 0:
            _bad_request(f"cost must be a finite number above 0 (baseline 1.0), not {cost:g}")
    asked = fields.get("worker_type")
    known = _SMG_WORKER_TYPES if state.profile.is_smg else _WORKER_TYPES
    # A typo becomes a regular worker without a word.
    return changed_worker(PostedWorker(url=url, worker_type=str(asked) if asked in known else "regular"), fields)


def changed_worker(posted: PostedWorker, fields: Mapping[str, Any]) -> PostedWorker:
    """Return a worker with what the fields tell of it; labels are merged, URL and type stay."""
    return PostedWorker(
        url=posted.url,
        worker_type=posted.worker_type,
        model_id=_given(fields, "model_id", posted.model_id),
        priority=_given(fields, "priority", posted.priority),
        cost=float(_given(fields, "cost", posted.cost)),
        labels={**posted.labels, **_given(fields, "labels", {})},
        api_key=_given(fields, "api_key", posted.api_key),
        bootstrap_port=_given(fields, "bootstrap_port", posted.bootstrap_port),
        extras={**posted.extras, **{name: fields[name] for name in _ECHOED if fields.get(name) is not None}},
    )


def _given(fields: Mapping[str, Any], name: str, otherwise: Any) -> Any:
    value = fields.get(name)
    return otherwise if value is None else value


def _open_end(text: str) -> str:
    """Return what a text that ends too early leaves open, in the words of serde."""
    return {"{": "an object", "[": "a list"}.get(text.strip()[-1:], "a value")


def _once(state: RouterState) -> Any:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            _refuse(state, f"duplicate field `{twice}`", 0)
        return fields

    return build


def _check(state: RouterState, text: str, name: str, value: Any) -> None:
    if value is None and name != "url":
        return
    column = _end_of(text, name)
    why = _fault(name, value)
    if why is not None:
        _refuse(state, f"{name}: {why}", column)
    if name == "labels":
        for label, content in value.items():
            if not isinstance(content, str):
                _refuse(state, f"labels.{label}: invalid type: {_shown(content)}, expected a string", column - 1)
    if name == "worker_type" and state.profile.is_smg and value not in _SMG_WORKER_TYPES:
        allowed = ", ".join(f"`{worker_type}`" for worker_type in _SMG_WORKER_TYPES)
        _refuse(state, f"worker_type: unknown variant `{value}`, expected one of {allowed}", column)


def _fault(name: str, value: Any) -> str | None:
    """Return what is wrong with the type or the range of a field, or None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _TEXTS and not isinstance(value, str):
        return f"invalid type: {_shown(value)}, expected a string"
    if name == "labels" and not isinstance(value, dict):
        return f"invalid type: {_shown(value)}, expected a map"
    if name == "cost" and not is_number:
        return f"invalid type: {_shown(value)}, expected f32"
    if name in _UNSIGNED:
        kind, highest = _UNSIGNED[name]
        if not is_number or isinstance(value, float):
            return f"invalid type: {_shown(value)}, expected {kind}"
        if not 0 <= value <= highest:
            return f"invalid value: {_shown(value)}, expected {kind}"
    return None


def _end_of(text: str, name: str) -> int:
    """Return the column in which the value of a field ends."""
    found = re.search(rf'"{re.escape(name)}"\s*:\s*', text)
    return json.JSONDecoder().raw_decode(text, found.end())[1] if found else len(text)


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, float):
        return f"floating point `{value}`"
    if isinstance(value, str):
        return f"string {json.dumps(value)}"
    return "sequence" if isinstance(value, list) else "map"


def _refuse(state: RouterState, why: str, column: int) -> NoReturn:
    message = f"Failed to deserialize the JSON body into the target type: {why} at line 1 column {column}"
    if state.profile.is_smg:
        message = f"Invalid JSON data: {message}"
        raise RefusedRequestError(
            error_answer(400, message.replace("WorkerConfigRequest", "WorkerSpec"), "BAD_REQUEST")
        )
    raise RefusedRequestError(text_answer(422, message))


def _bad_request(message: str) -> NoReturn:
    raise RefusedRequestError(error_answer(400, message, "BAD_REQUEST"))
