"""loadmonitor_router."""
