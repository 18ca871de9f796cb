"""Which request goes where, who may ask, and the answers that aren't about workers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote

from router_lifecycle.testing._answers import Answer, json_answer, listing, text_answer
from router_lifecycle.testing._requests import RefusedRequestError, read_body
from router_lifecycle.testing.model import RouterModel
from router_lifecycle.testing.profiles import IdKind

_COLLECTION_METHODS = ("POST", "GET", "HEAD")
_OPEN_PATHS = ("/health", "/liveness", "/readiness", "/v1/models", "/get_server_info", "/ha/status")


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request; the path is as it was sent, percent-encoded."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""


def answer_to(model: RouterModel, request: Request) -> Answer | None:
    """Return the router's answer, or None when it never gives one.

    Args:
        model: The router, settled to the time of the request.
        request: What was asked.
    """
    answer = _answer(model, request)
    if answer is not None and request.method == "HEAD":
        return Answer(answer.status, b"", answer.headers)
    return answer


def _answer(model: RouterModel, request: Request) -> Answer | None:
    parts = request.path.split("/")
    worker_id = unquote(parts[2]) if len(parts) == 3 and parts[1] == "workers" and parts[2] else None
    methods = _methods(model, request.path, worker_id)
    if methods is None:
        return _unknown(model, request)
    is_known = request.method in methods
    # SMG looks at the method before the key, the others after it.
    if request.path not in _OPEN_PATHS and (is_known or not model.state.profile.is_smg):
        refused = _unauthorized(model, request)
        if refused is not None:
            return refused if is_known else _with_allow(refused, methods)
    if not is_known:
        return _not_allowed(model, request, methods)
    try:
        return _routed(model, request, worker_id)
    except RefusedRequestError as refusal:
        return refusal.answer


def _methods(model: RouterModel, path: str, worker_id: str | None) -> tuple[str, ...] | None:
    """Return the methods of a path, or None where there is nothing."""
    profile = model.state.profile
    if path == "/workers":
        return _COLLECTION_METHODS
    if worker_id is not None:
        changing = ("PUT", "PATCH") if profile.is_smg else () if profile.ids is IdKind.URL else ("PUT",)
        return ("GET", "HEAD", *changing, "DELETE")
    if path in ("/health", "/liveness", "/readiness", "/get_loads", "/get_server_info"):
        return ("GET", "HEAD")
    if path == "/list_workers" and profile.has_legacy_routes:
        return ("GET", "HEAD")
    if path in ("/add_worker", "/remove_worker") and profile.has_legacy_routes:
        return ("POST",)
    if path == "/v1/tokenizers" and profile.ids is not IdKind.URL:
        return ("GET", "HEAD", "POST")
    if path == "/ha/status" and profile.version == "0.3.2":
        return ("GET", "HEAD")
    return None


def _routed(model: RouterModel, request: Request, worker_id: str | None) -> Answer | None:
    state, method = model.state, request.method
    query = {name: values[0] for name, values in parse_qs(request.query).items()}
    content_type = request.headers.get("content-type", "")
    if worker_id is not None:
        if method == "DELETE":
            return model.remove(worker_id)
        if method in ("PUT", "PATCH"):
            is_replacement = method == "PUT"
            needs_url = is_replacement and state.profile.is_smg
            fields = read_body(state, content_type, request.body, needs_url=needs_url)
            return model.update(worker_id, fields, is_replacement=is_replacement)
        return model.show(worker_id)
    if request.path == "/workers":
        if method == "POST":
            return model.register(read_body(state, content_type, request.body, needs_url=True))
        return listing(state, query.get("model"))
    if request.path == "/list_workers":
        return json_answer(200, {"urls": [entry.url for entry in state.entries.values()]})
    if request.path == "/add_worker":
        return model.register_legacy(query.get("url", ""))
    if request.path == "/remove_worker":
        return model.remove_legacy(query.get("url", ""))
    return _about_the_router(model, request.path)


def _about_the_router(model: RouterModel, path: str) -> Answer:
    state = model.state
    healthy = sum(entry.is_healthy for entry in state.entries.values())
    if path == "/readiness":
        if healthy:
            body = {"status": "ready", "healthy_workers": healthy, "total_workers": len(state.entries)}
            return json_answer(200, body)
        return json_answer(503, {"status": "not ready", "reason": "insufficient healthy workers"})
    if path == "/get_loads":
        if state.profile.is_smg:
            return json_answer(200, {"version": state.profile.version, "dp_rank_count": 0, "loads": []})
        return json_answer(200, {"workers": [{} for _ in state.entries]})
    if path == "/get_server_info":
        if state.profile.is_smg:
            # SMG passes on what one of its workers says of itself.
            engine = next((entry.engine for entry in state.entries.values() if entry.engine is not None), None)
            if engine is None:
                return _smg_error(503, "server_error", "no_workers", "No workers are available")
            return json_answer(200, {"model_path": engine.model_path, "served_model_name": engine.served_model_name})
        info = f'{{"router_manager":true,"routers_count":1,"workers_count":{len(state.entries)}}}'
        return text_answer(200, info)
    if path == "/v1/tokenizers":
        return json_answer(200, {"tokenizers": []})
    if path == "/ha/status":
        return json_answer(503, {"error": "mesh not enabled"})
    return text_answer(200, "OK")


def _unauthorized(model: RouterModel, request: Request) -> Answer | None:
    state = model.state
    key = state.options.api_key
    if key is None:
        return None
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    is_bearer = scheme == "Bearer" or (state.profile.is_smg and scheme.lower() == "bearer")
    if is_bearer and given == key:
        return None
    if not state.profile.is_smg:
        return Answer(401)
    realm = 'Bearer realm="data-plane"'
    if is_bearer and given:
        message, challenge = "Invalid API key", f'{realm}, error="invalid_token"'
    else:
        message, challenge = "Missing API key: send it as `Authorization: Bearer <key>`", realm
    refused = _smg_error(401, "invalid_request_error", "invalid_api_key", message)
    return Answer(401, refused.body, {**refused.headers, "www-authenticate": challenge})


def _unknown(model: RouterModel, request: Request) -> Answer:
    if not model.state.profile.is_smg:
        return Answer(404)
    message = f"Invalid URL ({request.method} {request.path})"
    return _smg_error(404, "invalid_request_error", "unknown_url", message)


def _not_allowed(model: RouterModel, request: Request, methods: tuple[str, ...]) -> Answer:
    if not model.state.profile.is_smg:
        return _with_allow(Answer(200 if request.method == "OPTIONS" else 405), methods)
    message = f"Invalid URL ({request.method} {request.path})"
    return _with_allow(_smg_error(405, "invalid_request_error", "method_not_allowed", message), methods)


def _with_allow(answer: Answer, methods: tuple[str, ...]) -> Answer:
    return Answer(answer.status, answer.body, {**answer.headers, "allow": ",".join(methods)})


def _smg_error(status: int, kind: str, code: str, message: str) -> Answer:
    return json_answer(status, {"error": {"type": kind, "code": code, "message": message, "param": None}})
