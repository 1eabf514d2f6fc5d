"""Technologies that are measured beside the native engine: one file each, run by the agent's host side."""
