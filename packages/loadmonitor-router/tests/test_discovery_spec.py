"""A discovery from one word on a command line, and what it needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from loadmonitor_router.discovery import (
    DnsDiscovery,
    FileDiscovery,
    KubernetesDiscovery,
    RouterDiscovery,
    SrvDiscovery,
    StaticDiscovery,
    parse_discovery,
)
from loadmonitor_router.errors import ConfigError
from loadmonitor_router.testing import ManualClock

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
"""


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("static:http://a:30000,http://b:30000", StaticDiscovery),
        ("file:/etc/workers.json", FileDiscovery),
        ("dns:workers.default.svc:30000", DnsDiscovery),
        ("srv:_http._tcp.workers.default.svc", SrvDiscovery),
        ("k8s:inference/app=sglang,role=decode", KubernetesDiscovery),
        ("router:http://router:30000", RouterDiscovery),
    ],
)
async def test_every_form_has_its_discovery(
    spec: str, kind: type, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    discovery = parse_discovery(spec, clock=clock)
    assert type(discovery) is kind
    assert discovery.last_error is None
    await discovery.aclose()


async def test_the_reporters_port_is_handed_on() -> None:
    (target,) = await anext(parse_discovery("static:http://a:30000", reporter_port=7))
    assert target.reporter == "a:7"


@pytest.mark.parametrize(
    "spec",
    ["", "static:", "http://a:1", "dns:workers", "dns::1", "dns:workers:http", "k8s:ns", "k8s:ns/app", "k8s:/a=b"],
)
def test_a_word_of_another_form_is_refused_with_all_forms(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"is not understood: one of static:URL.*router:URL is") as caught:
        parse_discovery(spec)
    assert repr(spec) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("DnsDiscovery", "dns", "dns"),
        ("SrvDiscovery", "dns", "dns"),
        ("KubernetesDiscovery", "lightkube", "kubernetes"),
        ("RouterDiscovery", "httpx", "router"),
    ],
)
def test_an_absent_extra_is_named_and_nobody_else_needs_it(name: str, module: str, extra: str) -> None:
    program = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from loadmonitor_router import discovery, errors\n"
        "discovery.parse_discovery('static:http://a:1')\n"
        f"try: discovery.{name}\n"
        "except errors.MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{name} needs an optional dependency: pip install 'loadmonitor-router[{extra}]'\n"
