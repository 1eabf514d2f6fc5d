"""Curves fitted to measurements."""
