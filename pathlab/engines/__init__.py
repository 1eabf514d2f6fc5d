"""Engines: programs that move a trial's data, one file each."""
