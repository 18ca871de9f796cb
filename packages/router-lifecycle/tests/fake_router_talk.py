"""Plain HTTP with a fake router in process, for the tests of the fake."""

from typing import Any
from urllib.parse import quote

import httpx

from router_lifecycle.testing import FakeEngine, FakeRouter, Health, ManualClock, RouterOptions

ALL = ("0.2.0", "0.2.2", "0.2.4", "0.3.0", "0.3.2", "smg-1.13.0")
URL_IDS = ("0.2.0", "0.2.2", "0.2.4")
UUID_IDS = ("0.3.0", "0.3.2")
SMG = "smg-1.13.0"
A, B, DEAD = "http://10.0.0.1:30000", "http://10.0.0.2:30000", "http://10.0.0.9:30000"
UNKNOWN_UUID = "00000000-0000-4000-8000-000000000000"


class Talk:
    """A fake router with two engines, a client of it, and their clock."""

    def __init__(self, version: str, *engines: FakeEngine, clock: ManualClock | None = None, **options: Any) -> None:
        self.clock = ManualClock() if clock is None else clock
        self.router = FakeRouter(
            version,
            engines=engines or (FakeEngine(A), FakeEngine(B)),
            clock=self.clock,
            options=RouterOptions(**options),
        )
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app=self.router), base_url="http://router")

    async def post(self, url: str = A, **fields: object) -> httpx.Response:
        return await self.http.post("/workers", json={"url": url, **fields})

    async def accepted(self, url: str = A, **fields: object) -> str:
        """Register a worker and return its id."""
        answer = await self.post(url, **fields)
        assert answer.status_code == 202, answer.text
        worker_id: str = answer.json()["worker_id"]
        return worker_id

    async def one(self, method: str, worker_id: str, **request: Any) -> httpx.Response:
        return await self.http.request(method, f"/workers/{quote(worker_id, safe='')}", **request)

    async def job(self, worker_id: str) -> tuple[str, str] | None:
        """Return type and status of the job that the answer about a worker tells of."""
        told = (await self.one("GET", worker_id)).json().get("job_status")
        return None if told is None else (told["job_type"], told["status"])

    async def rows(self) -> dict[str, dict[str, Any]]:
        return {row["url"]: row for row in (await self.http.get("/workers")).json()["workers"]}

    def late(self, seconds: float, health: Health = Health.LOADING) -> FakeEngine:
        """Return an engine on a third address that becomes healthy so many seconds from the clock's zero."""
        engine = FakeEngine(DEAD, health=health)
        engine.becomes(Health.HEALTHY, at_seconds=seconds)
        self.router.add_engine(engine)
        return engine
