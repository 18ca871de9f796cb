"""docs/nic-metrics.md says what the code says."""

import subprocess
import sys
from pathlib import Path

from gen_nic_metrics import DOCUMENT, ENUMS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "nic-metrics.md").read_text()


def test_the_tables_of_reasons_are_up_to_date() -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts" / "gen_nic_metrics.py"), "--check"], check=True)


def test_every_reason_has_a_row_and_a_changed_row_is_put_right() -> None:
    for reasons in ENUMS:
        for reason in reasons:
            assert f"| `{reason}` | " in TEXT
    changed = TEXT.replace("| `first_sample` | ", "| `first_sample` | Perhaps. ")
    assert changed != TEXT
    assert DOCUMENT.put_into(changed) == TEXT
