"""nic_metrics."""
