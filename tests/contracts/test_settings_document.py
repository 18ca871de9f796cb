"""docs/settings.md says what the code says."""

import subprocess
import sys
from pathlib import Path

from gen_settings import DOCUMENT

ROOT = Path(__file__).parents[2]


def test_the_tables_of_settings_are_up_to_date() -> None:
    subprocess.run([sys.executable, str(ROOT / DOCUMENT.script), "--check"], check=True)


def test_a_changed_setting_is_noticed_and_put_right() -> None:
    text = (ROOT / DOCUMENT.path).read_text()
    for row in ("| `3000` |", "`LOADMONITOR_HTTP_LISTEN` |", "Name of the served model."):
        changed = text.replace(row, "something else")
        assert changed != text
        assert DOCUMENT.put_into(changed) == text
