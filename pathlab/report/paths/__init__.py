"""Paths hop by hop: route, MTU, capacity and latency."""
