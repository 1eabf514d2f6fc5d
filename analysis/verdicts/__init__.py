"""Verdicts: limits, differences, equivalence, preference."""
