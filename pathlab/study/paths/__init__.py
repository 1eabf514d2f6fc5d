"""Surveys of network paths: hops, capacity, latency."""
