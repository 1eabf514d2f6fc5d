"""Inspected captures: numbers, sentences, figures."""
