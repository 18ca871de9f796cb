"""What scripts/check_tree.py calls a fault of a tracked file."""

import pytest

from check_tree import faults

# Written in parts: whole, they would be faults of this file.
HOST = "https://py" + "pi.org/simple"
FOLDER = "/ro" + "ot/project"
SHARED = ".." + "/shared/x.json"


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        pytest.param("a/uv.lock", "", "a/uv.lock: a lock file is tracked", id="lock"),
        pytest.param("a.toml", f"\nurl = '{HOST}'", "a.toml:2: names a package registry's host", id="registry"),
        pytest.param("a.py", f"open('{FOLDER}/x')", "a.py:1: names a path of one machine", id="machine_path"),
        pytest.param("a.py", f"open('{SHARED}')", "a.py:1: names a folder outside the project", id="shared"),
    ],
)
def test_a_fault_is_named_with_its_place(file: str, text: str, fault: str) -> None:
    assert faults(file, text) == [fault]


@pytest.mark.parametrize(
    "text", ["https://example.org/root/x", "packages/work/root/", "/sys/class/infiniband", "/dev/shm/x"]
)
def test_an_ordinary_path_is_none(text: str) -> None:
    assert faults("README.md", text) == []
