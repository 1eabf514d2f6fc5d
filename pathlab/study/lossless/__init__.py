"""Searches for the lossless rate: how they run, and what they found."""
