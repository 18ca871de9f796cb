"""Fail when a tracked file names a package registry's host, this or that machine's paths, or a folder outside the project.

The same holds for lock files: they name download hosts.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    "a package registry's host": re.compile(r"pypi[.]org|pythonhosted[.]org|npmjs[.]org|index[-]url"),
    "a path of one machine": re.compile(r"(?<![\w.:/-])/(?:root|work|home/\w+|Users/\w+)/"),
    "a folder outside the project": re.compile(r"[.][.]/shared\b|\bshared/(?:facts|design|samples|golden)\b"),
}


def faults(file: str, text: str) -> list[str]:
    """Tell what a tracked file should not hold, line by line."""
    found = [f"{file}: a lock file is tracked"] if Path(file).name == "uv.lock" else []
    for number, line in enumerate(text.splitlines(), 1):
        found += [f"{file}:{number}: names {what}" for what, pattern in FORBIDDEN.items() if pattern.search(line)]
    return found


def main() -> int:
    """Print every fault; return 1 when there is one."""
    git = shutil.which("git")
    listed = git and subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if not listed or listed.returncode:
        print("not a git checkout: nothing is tracked")
        return 0
    files = [name for name in listed.stdout.split("\0") if (ROOT / name).is_file()]
    found = [fault for file in files for fault in faults(file, (ROOT / file).read_text(errors="replace"))]
    print(*found, f"{len(files)} tracked files, {len(found)} faults", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
