"""How far runs are, and what of their trials is missing or excluded."""
