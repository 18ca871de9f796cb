"""`p2p-registry manifest`: which objects it prints, how they belong together, and what it refuses. Kubernetes' schemas are checked elsewhere."""

import subprocess
import sys

import pytest

from p2p_registry.cli import run
from p2p_registry.cli._cluster import rbac, server
from p2p_registry.cli._yaml import yaml_of


def kinds(printed: str) -> list[str]:
    return [line.removeprefix("kind: ") for line in printed.splitlines() if line.startswith("kind: ")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["crd"], ["CustomResourceDefinition"]),
        (["rbac"], ["ServiceAccount", "Role", "RoleBinding"]),
        (["server", "--image", "i"], ["Service", "PodDisruptionBudget", "Deployment"]),
        (["rbac", "crd"], ["CustomResourceDefinition", "ServiceAccount", "Role", "RoleBinding"]),
    ],
)
def test_it_prints_what_it_is_asked_for(
    arguments: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["manifest", *arguments]) == 0
    assert kinds(capsys.readouterr().out) == expected


def test_it_prints_everything_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["manifest", "--image", "registry/p2p:1", "--namespace", "inference", "--replicas", "3"]) == 0
    printed = capsys.readouterr().out
    assert kinds(printed) == [
        "CustomResourceDefinition",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "Service",
        "PodDisruptionBudget",
        "Deployment",
    ]
    # Of six objects, and of the account that is bound; a definition has none.
    assert printed.count("  namespace: inference\n") == 7
    assert 'image: "registry/p2p:1"' in printed
    assert "replicas: 3\n" in printed


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "parts=server needs --image; or print crd and rbac only"),
        (["server"], "parts=server needs --image"),
        (["crd", "--replicas", "0"], "--replicas 0 is not allowed: at least 1 is"),
        (["crd", "--name", "9a"], '--name "9a" is not allowed: up to 63 lower-case letters, digits and - in between'),
        (["crd", "--namespace", "A b"], '--namespace "A b" is not allowed: up to 63 lower-case letters'),
        (["--image", ""], "parts=server needs --image"),
        (["all"], "Invalid value"),
    ],
)
def test_what_could_not_work_is_refused(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["manifest", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert complaint in told.err


def test_account_role_server_and_service_belong_together() -> None:
    account, role, binding = rbac("r", "n")
    service, budget, deployment = server("r", "n", "i", 2)
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": "n"}]
    template = deployment["spec"]["template"]
    assert template["spec"]["serviceAccountName"] == account["metadata"]["name"]
    labels = template["metadata"]["labels"].items()
    for selector in (
        service["spec"]["selector"],
        budget["spec"]["selector"]["matchLabels"],
        deployment["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels
    (container,) = template["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"grpc": 8001, "metrics": 9401}
    assert service["spec"]["ports"] == [{"name": "grpc", "port": 8001, "targetPort": "grpc"}]
    for probe, path in (("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": "metrics"}
    assert template["spec"]["enableServiceLinks"] is False


def test_the_role_is_of_one_namespace_and_names_every_right() -> None:
    _, role, _ = rbac("r", None)
    assert "namespace" not in role["metadata"]
    assert role["kind"] == "Role"
    assert not any("*" in rule[key] for rule in role["rules"] for key in ("apiGroups", "resources", "verbs"))


def test_it_needs_no_client_library_of_kubernetes() -> None:
    program = (
        "import sys; sys.modules['lightkube'] = None\n"
        "from p2p_registry.cli import run\n"
        "raise SystemExit(run(['manifest', '--image', 'i']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_yaml_is_written_in_blocks_and_everything_doubtful_is_quoted() -> None:
    document = {
        "kind": "K",
        "empty": {"map": {}, "list": []},
        "texts": ["bare/path.x", "no", "1", "a: b", "", "ж", "null"],
        "more": [{"a": 1, "b": [True, None, 0.5]}, [["x"]]],
    }
    assert yaml_of([document, {"kind": "L"}]) == (
        "kind: K\nempty:\n  map: {}\n  list: []\n"
        'texts:\n  - bare/path.x\n  - "no"\n  - "1"\n  - "a: b"\n  - ""\n  - "\\u0436"\n  - "null"\n'
        "more:\n  - a: 1\n    b:\n      - true\n      - null\n      - 0.5\n  - - - x\n"
        "---\nkind: L\n"
    )
