"""Campaign files that ship with PathLab."""
