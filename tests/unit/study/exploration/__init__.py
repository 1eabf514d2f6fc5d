"""Tests of the explorer's table, views and curves."""
