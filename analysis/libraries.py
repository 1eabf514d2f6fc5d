"""scipy and statsmodels, loaded part by part at the first use: they take a second, and a trial needs none."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for a module, which is imported when the first of its names is read."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # read by tools that inspect what a module holds
            raise AttributeError(name)
        result = getattr(importlib.import_module(self.module), name)
        setattr(self, name, result)
        return result


fft = LazyModule("scipy.fft")
optimize = LazyModule("scipy.optimize")
special = LazyModule("scipy.special")
stats = LazyModule("scipy.stats")
families = LazyModule("statsmodels.genmod.families")
generalized_linear_model = LazyModule("statsmodels.genmod.generalized_linear_model")
linear_model = LazyModule("statsmodels.regression.linear_model")
sm_exceptions = LazyModule("statsmodels.tools.sm_exceptions")


def load_all() -> None:
    """Load every part now: a long run must not mix two versions of a package that is upgraded meanwhile."""
    for part in list(globals().values()):
        if isinstance(part, LazyModule):
            importlib.import_module(part.module)
