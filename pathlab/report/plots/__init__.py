"""Figures: what they show, and how it is drawn for print and for a browser."""
