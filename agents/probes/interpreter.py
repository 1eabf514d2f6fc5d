"""The Python that runs this agent."""

from __future__ import annotations

import platform
import sys
from typing import Any, Dict

from pathlab.agents.source import Source


def read_interpreter(_source: Source) -> Dict[str, Any]:
    """``implementation``, ``version`` and ``path``."""
    return {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "path": sys.executable or None,
    }
