"""Estimators with intervals: medians, rates, shifts, serial correlation."""
