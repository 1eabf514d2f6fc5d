"""PathLab, a network path throughput analyzer.

``pathlab.open("results/…")`` gives the results of a campaign as data frames, and every analysis of them;
``pathlab.explore`` those of several on the same axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pathlab import _version

if TYPE_CHECKING:
    from pathlab.api import explore, open

__version__ = _version.VERSION

__all__ = ["__version__", "explore", "open"]


def __getattr__(name: str) -> Any:
    # The store needs pyarrow and SQLAlchemy; the command line starts faster without them.
    if name in ("explore", "open"):
        from pathlab import api

        return getattr(api, name)
    raise AttributeError(f"module 'pathlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
