"""A page from something in between says nothing of what the router speaks."""

import pytest
from lifecycle_bench import SPEC, VERSIONS, Bench

from router_lifecycle import RegistrationHandle
from router_lifecycle.testing import html_page

SPOKEN = {"0.2.0": "url", "0.2.2": "url", "0.2.4": "url", "0.3.0": "uuid", "0.3.2": "uuid", "smg-1.13.0": "smg"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", ["/workers/not-a-uuid", "/router-lifecycle-probe"])
@pytest.mark.parametrize("status", [200, 404])
async def test_a_page_in_place_of_a_probe_is_no_dialect(version: str, path: str, status: int) -> None:
    bench = Bench(version)
    bench.router.faults.add(html_page(status), path=path)
    client = bench.client()
    handle = RegistrationHandle(router=client.router_url, spec=SPEC)
    await bench.run(client.register(handle))
    assert handle.dialect == SPOKEN[version]
