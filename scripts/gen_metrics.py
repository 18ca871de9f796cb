"""Write the tables of metric families into docs/metrics.md; with --check, only compare."""

from generated_table import GeneratedDocument
from loadmonitor_router.export import metrics as router_metrics
from loadmonitor_worker import metrics as worker_metrics
from nic_metrics import prometheus as nic_metrics

DOCUMENT = GeneratedDocument(
    "docs/metrics.md",
    "scripts/gen_metrics.py",
    {module.__name__: module.markdown_table for module in (router_metrics, worker_metrics, nic_metrics)},
)

if __name__ == "__main__":
    DOCUMENT.main(__doc__)
