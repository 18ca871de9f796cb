"""p2p_selection."""
