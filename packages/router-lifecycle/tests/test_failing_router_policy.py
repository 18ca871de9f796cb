"""A router that fails jobs on live workers without a cause, as sglang-router 0.3.0 does: the client reports it, a policy gets by."""

from collections import Counter

import pytest
from lifecycle_bench import SPEC, URL, Bench

from router_lifecycle import RegistrationFailed, RegistrationHandle, RemovalFailed, RouterLifecycleClient, Worker
from router_lifecycle.testing import RouterOptions

ATTEMPTS = 10


class Policy:
    """The policy of docs/routers.md, each step held against what the router really lists."""

    def __init__(self, bench: Bench, client: RouterLifecycleClient) -> None:
        self.bench = bench
        self.client = client
        self.failures: Counter[str] = Counter()

    async def register(self) -> Worker:
        for _ in range(ATTEMPTS):
            handle = RegistrationHandle(router=self.client.router_url, spec=SPEC)
            try:
                return await self.bench.run(self.client.register(handle))
            except RegistrationFailed as failed:
                error = failed
            self.failures["registration"] += 1
            assert error.safe_to_resubmit is (self.bench.routable == [])
            await self.remove(handle)
        pytest.fail(f"not registered in {ATTEMPTS} attempts")

    async def remove(self, target: Worker | RegistrationHandle) -> None:
        for _ in range(ATTEMPTS):
            try:
                return await self.bench.run(self.client.remove(target))
            except RemovalFailed as failed:
                error = failed
            self.failures["removal"] += 1
            assert "Unknown error" in str(error)
            assert self.bench.routable == [URL]
        pytest.fail(f"not removed in {ATTEMPTS} attempts")


async def test_the_policy_registers_and_removes_at_a_router_that_fails_at_random() -> None:
    failures: Counter[str] = Counter()
    for seed in range(3):
        bench = Bench("0.3.0", options=RouterOptions(random_failure_rate=0.25, seed=seed))
        async with bench.client() as client:
            policy = Policy(bench, client)
            for _ in range(25):
                worker = await policy.register()
                assert bench.routable == [URL]
                # The end of its job takes the record of a removal with it, which is then asked for again without a word.
                await bench.pass_time(1)
                await policy.remove(worker)
                assert bench.routable == []
            # Nothing comes back.
            await bench.pass_time(60)
            assert bench.routable == []
        failures += policy.failures
    assert failures["removal"] > 5
    assert failures["registration"] > 0
