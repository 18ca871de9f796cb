"""p2p_registry."""
