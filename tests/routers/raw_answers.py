"""A fixed script of plain HTTP, and what was answered: status, type, and the fields of the body with the kinds of their values."""

import asyncio
import re
import time
from collections.abc import Mapping
from urllib.parse import quote

import httpx
from sites import http_client
from trial import Trial

from router_lifecycle.testing import Health

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOBODY = "00000000-0000-4000-8000-000000000000"
_DONE_SECONDS = 15.0


def _shape(value: object) -> str:
    """Return a body without what differs from run to run."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_shape(content)}" for key, content in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dict.fromkeys(map(_shape, value))) + "]"
    return type(value).__name__


def _told(answer: httpx.Response, *private: str) -> str:
    """Return an answer in one line; texts of errors are kept, addresses and ids replaced."""
    kind = answer.headers.get("content-type", "-").partition(";")[0]
    try:
        body = answer.json()
    except ValueError:
        text = answer.text
    else:
        error = body.get("error") if isinstance(body, dict) else None
        text = f"{body.get('code')} {error}" if isinstance(error, str) else _shape(body)
    for word in private:
        text = text.replace(word, "URL")
    # URLs are longer at one side than at the other.
    text = re.sub(r"column \d\d+", "column N", text)
    allow = f" allow={answer.headers['allow']}" if "allow" in answer.headers else ""
    location = " location" if "location" in answer.headers else ""
    return f"{answer.status_code} {kind}{allow}{location} {_UUID.sub('ID', text)}".strip()


async def exchanges(trial: Trial) -> dict[str, str]:
    """Play the script and return each answer by what was asked."""
    engine = await trial.engine()
    down = await trial.engine(health=Health.DOWN)
    said: dict[str, str] = {}
    async with http_client(trial.place.url) as http:

        async def ask(name: str, method: str, path: str, **content: object) -> httpx.Response:
            trial.requests += 1
            answer = await http.request(method, path, **content)  # type: ignore[arg-type]
            said[name] = _told(answer, engine.url, down.url)
            return answer

        await ask("GET the empty list", "GET", "/workers")
        await ask("GET an unknown UUID", "GET", f"/workers/{_NOBODY}")
        await ask("GET what is no UUID", "GET", "/workers/nobody")
        await ask("DELETE an unknown UUID", "DELETE", f"/workers/{_NOBODY}")
        await ask("POST on one worker", "POST", f"/workers/{_NOBODY}", json={})
        await ask("PATCH an unknown UUID", "PATCH", f"/workers/{_NOBODY}", json={"priority": 1})
        await ask("an unknown path", "GET", "/nothing/here")
        await ask("a slash at the end", "GET", "/workers/")
        await ask("POST without a URL", "POST", "/workers", json={})
        await ask("POST broken JSON", "POST", "/workers", content=b"{", headers={"content-type": "application/json"})
        await ask("POST without a content type", "POST", "/workers", content=b"{}")
        await ask("POST a negative priority", "POST", "/workers", json={"url": engine.url, "priority": -1})

        async def until(path: str, *, listed: bool) -> None:
            began = time.monotonic()
            while time.monotonic() - began < _DONE_SECONDS:
                rows = (await http.get("/workers")).json()["workers"]
                is_listed = any(row["url"] == engine.url and row["is_healthy"] for row in rows)
                one = await http.get(path)
                job = one.json().get("job_status")
                if is_listed is listed and job is None and one.is_success is listed:
                    return
                if not listed and job is not None and job["status"] == "failed":
                    # 0.3.0 fails removals at random.
                    trial.resubmitted += 1
                    await http.delete(path)
                await asyncio.sleep(0.05)

        created = await ask("POST a live worker", "POST", "/workers", json={"url": engine.url})
        path = f"/workers/{quote(created.json()['worker_id'], safe='')}"
        await until(path, listed=True)
        await ask("GET the active worker", "GET", path)
        await ask("GET the list", "GET", "/workers")
        await ask("POST it again", "POST", "/workers", json={"url": engine.url})
        await asyncio.sleep(1.5)
        await ask("GET after that", "GET", path)
        pending = await ask("POST a dead URL", "POST", "/workers", json={"url": down.url})
        waiting = f"/workers/{quote(pending.json()['worker_id'], safe='')}"
        await asyncio.sleep(0.3)
        await ask("GET the pending worker", "GET", waiting)
        await ask("DELETE the worker", "DELETE", path)
        await until(path, listed=False)
        await ask("GET the removed worker", "GET", path)
    return said


async def raw_answers(trial: Trial) -> list[str]:
    """Play the script and keep what was said, for the comparison with the other side."""
    trial.answers = await exchanges(trial)
    return [f"{len(trial.answers)} exchanges"]
