"""Captured TCP connections, and what is amiss with a capture."""
