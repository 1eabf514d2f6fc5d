"""Technologies that are measured alongside the native engine: one file each, run by the agent's host side."""
