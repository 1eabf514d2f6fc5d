"""PathLab, a network path throughput analyzer."""

from pathlab._version import VERSION as __version__

__all__ = ["__version__"]
