"""Statistics of PathLab: arrays in, frozen dataclasses out; no files, no plots, no clock."""
