"""Host side of PathLab: standard library only, Python 3.8 or newer, shipped as one zip."""
