"""Write the table of metric families into docs/metrics.md; with --check, only compare."""

from generated_table import GeneratedTable
from loadmonitor_router.export.metrics import markdown_table

TABLE = GeneratedTable("docs/metrics.md", "scripts/gen_metrics.py", "loadmonitor_router.export.metrics", markdown_table)

if __name__ == "__main__":
    TABLE.main(__doc__)
