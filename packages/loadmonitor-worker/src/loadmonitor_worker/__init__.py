"""loadmonitor_worker."""
