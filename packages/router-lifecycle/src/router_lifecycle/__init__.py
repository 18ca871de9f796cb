"""router_lifecycle."""
