"""Run every scenario of tests/routers against every release, the long ones too, and write the outcomes into docs/routers.md.

What else is given goes to pytest: `-k 0.3.2` runs some, and leaves the rows of the others as they are.
"""

import sys

from outcome_run import run

if __name__ == "__main__":
    sys.exit(run("routers", "scenario"))
