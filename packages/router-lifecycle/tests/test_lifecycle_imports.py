"""What importing the package costs: nothing that an engine or a trainer would not have anyway."""

import subprocess
import sys


def test_importing_the_package_brings_neither_grpc_nor_a_server_nor_the_fake() -> None:
    program = "from router_lifecycle import *; import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    modules = set(loaded.stdout.split())
    assert "router_lifecycle.client" in modules
    assert not modules & {"grpc", "uvicorn", "loadmonitor_proto", "google.protobuf", "router_lifecycle.testing"}


def test_a_name_that_the_package_does_not_have_is_an_attribute_error() -> None:
    import router_lifecycle

    assert not hasattr(router_lifecycle, "no_such_name")
    assert all(hasattr(router_lifecycle, name) for name in router_lifecycle.__all__)


def test_the_pure_core_imports_no_loop_and_no_transport() -> None:
    program = "import router_lifecycle.{}, sys; print(*sys.modules)"
    for module in ("dialects", "_machine_register", "_machine_remove", "observation", "models", "errors"):
        # The package's own __init__ brings the shell; without it the core stands alone.
        alone = (
            "import sys, types, importlib.util as u;"
            "spec = u.find_spec('router_lifecycle'); package = types.ModuleType('router_lifecycle');"
            "package.__path__ = list(spec.submodule_search_locations); sys.modules['router_lifecycle'] = package;"
        )
        command = [sys.executable, "-c", alone + program.format(module)]
        loaded = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert not set(loaded.stdout.split()) & {"httpx", "tenacity", "router_lifecycle.client"}, module


def test_the_gate_and_the_guard_import_no_loop_and_no_transport() -> None:
    stub = (
        "import sys, types, importlib.util as u\n"
        "for name in ('router_lifecycle', 'router_lifecycle.publication'):\n"
        "    spec = u.find_spec(name); package = types.ModuleType(name)\n"
        "    package.__path__ = list(spec.submodule_search_locations); sys.modules[name] = package\n"
        "import router_lifecycle.publication.{}\nprint(*sys.modules)"
    )
    for module in ("gate", "guard", "responses", "versions"):
        command = [sys.executable, "-c", stub.format(module)]
        loaded = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert not set(loaded.stdout.split()) & {"httpx", "tenacity", "router_lifecycle.client", "asyncio"}, module
