"""The hosts of a run: checks, locks, calibration, routes, labs."""
