"""What goes over the wire: an answer, and the bodies of each release."""

import json
from dataclasses import dataclass, field

from router_lifecycle.testing._state import Entry, JobRecord, RouterState
from router_lifecycle.testing.profiles import IdKind

ARCHITECTURES = '["Qwen3ForCausalLM"]'


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def json_answer(status: int, body: object, **headers: str) -> Answer:
    """Return an answer in JSON, spelt as the routers spell it."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    return Answer(status, text.encode(), {"content-type": "application/json", **headers})


def text_answer(status: int, text: str, **headers: str) -> Answer:
    """Return an answer in plain text."""
    return Answer(status, text.encode(), {"content-type": "text/plain; charset=utf-8", **headers})


def error_answer(status: int, message: str, code: str) -> Answer:
    """Return one of the errors of the worker routes."""
    return json_answer(status, {"error": message, "code": code})


def not_found(worker_id: str) -> Answer:
    """Return the answer for an id that nobody has."""
    return error_answer(404, f"Worker {worker_id} not found", "WORKER_NOT_FOUND")


def accepted(state: RouterState, url: str) -> Answer:
    """Return the answer to a registration."""
    worker_id = state.id_of(url)
    message = "Worker addition queued for background processing"
    if state.profile.ids is IdKind.URL:
        return json_answer(202, {"status": "accepted", "worker_id": worker_id, "message": message})
    location = f"/workers/{worker_id}"
    body = {"status": "accepted", "worker_id": worker_id, "url": url, "location": location, "message": message}
    return json_answer(202, body, location=location)


def queued(worker_id: str, what: str) -> Answer:
    """Return the answer to a removal or an update."""
    message = f"Worker {what} queued for background processing"
    return json_answer(202, {"status": "accepted", "worker_id": worker_id, "message": message})


def listing(state: RouterState, model: str | None) -> Answer:
    """Return the list of workers; only SMG looks at the model that was asked for."""
    entries = list(state.entries.values())
    if state.profile.is_smg and model is not None:
        entries = [entry for entry in entries if _model_of(state, entry) == model]
    counts = {"prefill": 0, "decode": 0, "regular": 0}
    for entry in state.entries.values():
        # 0.2.x counts each registration of a rank again.
        repeats = entry.registrations if state.profile.version in ("0.2.2", "0.2.4") else 1
        counts[entry.posted.worker_type] = counts.get(entry.posted.worker_type, 0) + repeats
    stats = {f"{name}_count": counts[name] for name in ("prefill", "decode", "regular")}
    return json_answer(
        200, {"workers": [row(state, entry) for entry in entries], "total": len(entries), "stats": stats}
    )


def row(state: RouterState, entry: Entry) -> dict[str, object]:
    """Return what the list shows of a worker."""
    return _smg_row(state, entry) if state.profile.is_smg else _sglang_row(state, entry)


def with_record(body: dict[str, object], record: JobRecord | None) -> dict[str, object]:
    """Return what the answer for one worker shows: its row and the record of its URL."""
    if record is None:
        return body
    job = {
        "job_type": record.job_type,
        "worker_url": record.worker_url,
        "status": record.status,
        "message": record.message,
        "timestamp": record.timestamp,
    }
    return {**body, "job_status": job}


def placeholder(state: RouterState, worker_id: str, url: str) -> dict[str, object]:
    """Return what stands for a worker of which only a job record is known; it looks like data and isn't."""
    if state.profile.is_smg:
        return {
            "id": worker_id,
            "url": url,
            "worker_type": "regular",
            "connection_mode": "http",
            "runtime_type": "unspecified",
            "priority": 50,
            "cost": 1.0,
            "max_connection_attempts": 20,
            "is_healthy": False,
            "status": "pending",
            "load": 0,
            "http2": False,
        }
    body: dict[str, object] = {
        "id": worker_id,
        "url": url,
        "model_id": "unknown",
        "priority": 0,
        "cost": 1.0,
        "worker_type": "unknown",
        "is_healthy": False,
        "load": 0,
        "connection_mode": "unknown",
    }
    return body | ({"disable_health_check": False} if state.profile.version == "0.3.2" else {})


def _model_of(state: RouterState, entry: Entry) -> str:
    if entry.posted.model_id is not None and not state.profile.is_smg:
        return entry.posted.model_id
    if entry.engine is None:
        return "unknown"
    if state.profile.version == "0.2.0":
        return entry.engine.model_path.rstrip("/").rpartition("/")[2]
    return entry.engine.model_path if state.profile.version == "0.2.2" else entry.engine.served_model_name


def _sglang_row(state: RouterState, entry: Entry) -> dict[str, object]:
    posted = entry.posted
    body: dict[str, object] = {
        "id": entry.id,
        "url": entry.url,
        "model_id": _model_of(state, entry),
        "priority": posted.priority,
        "cost": posted.cost,
        "worker_type": posted.worker_type,
        "is_healthy": entry.is_healthy,
        "load": 0,
        "connection_mode": state.profile.connection_mode,
    }
    if entry.engine is not None and state.profile.version == "0.2.0":
        body["tokenizer_path"] = entry.engine.model_path
    body |= posted.extras
    if posted.bootstrap_port is not None and posted.worker_type == "prefill":
        body["bootstrap_port"] = posted.bootstrap_port
    metadata = _metadata(state, entry)
    if metadata:
        body["metadata"] = metadata
    return body | ({"disable_health_check": False} if state.profile.version == "0.3.2" else {})


def _metadata(state: RouterState, entry: Entry) -> dict[str, str]:
    posted, engine, version = entry.posted, entry.engine, state.profile.version
    told: dict[str, str] = {}
    if engine is not None:
        told["model_path"] = engine.model_path
        if version in ("0.2.0", "0.2.2"):
            told["model_id"] = _model_of(state, entry)
        else:
            told |= {"served_model_name": engine.served_model_name, "architectures": ARCHITECTURES}
        if version != "0.2.2":
            told["model_type"] = "qwen3"
        if version == "0.2.0":
            told |= {"tokenizer_path": engine.model_path, "weight_version": "default", "server_version": "0.5.6"}
            told |= {"max_running_requests": "256", "is_generation": "true"}
            told["served_model_name"] = engine.served_model_name
        if version == "0.3.2":
            mode = "null" if posted.worker_type == "regular" else posted.worker_type
            told |= {"dp_size": str(engine.dp_size), "tp_size": "1", "load_balance_method": "round_robin"}
            told["disaggregation_mode"] = mode
    # What was posted comes back among the metadata, and only if it isn't the default.
    if posted.priority != 50:
        told["priority"] = str(posted.priority)
    if posted.cost != 1.0:
        told["cost"] = f"{posted.cost:g}"
    return told | dict(posted.labels)


def _smg_row(state: RouterState, entry: Entry) -> dict[str, object]:
    posted, engine = entry.posted, entry.engine
    model: dict[str, object] = {
        "id": _model_of(state, entry),
        "model_type": ["chat", "completions", "responses", "tools"],
    }
    labels: dict[str, str] = dict(posted.labels)
    if engine is not None:
        model |= {"hf_model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "context_length": 32768}
        model["tokenizer_path"] = engine.model_path
        labels |= {
            "model_path": engine.model_path,
            "served_model_name": engine.served_model_name,
            "tokenizer_path": engine.model_path,
            "model_type": "qwen3",
            "architectures": ARCHITECTURES,
            "version": "0.5.6",
            "dp_size": str(engine.dp_size),
            "tp_size": "1",
            "context_length": "32768",
            "max_running_requests": "256",
            "load_balance_method": "round_robin",
            "is_generation": "true",
            "max_model_len": "32768",
        }
    body: dict[str, object] = {"id": entry.id, "model_id": model["id"], "url": entry.url, "models": [model]}
    body |= {"worker_type": posted.worker_type, "connection_mode": "http", "runtime_type": "sglang"}
    if labels:
        body["labels"] = labels
    body |= {"priority": posted.priority, "cost": posted.cost}
    if posted.bootstrap_port is not None:
        body["bootstrap_port"] = posted.bootstrap_port
    if entry.dp_rank is not None and engine is not None:
        body |= {"dp_base_url": posted.url, "dp_rank": entry.dp_rank, "dp_size": engine.dp_size}
    status = "draining" if entry.is_draining else "ready"
    if not entry.is_healthy and not entry.is_draining:
        # Three failed checks make a worker not ready; nine more and it's failed.
        status = "failed" if entry.failed_checks >= 12 else "not_ready"
    body |= {"max_connection_attempts": 20, "is_healthy": entry.is_healthy, "status": status, "load": 0, "http2": False}
    return body
