"""Figures: their description, and how print and the page draw it."""
