"""Run every fault of tests/faults, the long ones too, and write what became of them into docs/faults.md.

What else is given goes to pytest: `-k stopped` runs some, and leaves the rows of the others as they are.
"""

import sys

from outcome_run import run

if __name__ == "__main__":
    sys.exit(run("faults", "fault"))
