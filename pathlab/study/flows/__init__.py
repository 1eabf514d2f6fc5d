"""Streams of bytes: throughput, delay, costs, limits, certainty, and the recommendation."""
