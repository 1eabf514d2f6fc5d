"""Streams of bytes: the recommendation, and the chapters on streams and windows."""
