"""Comparisons of results, builds and configurations: sentences, tables, figures."""
