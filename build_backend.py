"""setuptools' build backend. A wheel also needs what makes the manual pages; an editable install does not.

PATHLAB_WHEEL_MACHINES=all makes the wheel for every machine, whose engines zig builds.
"""

import os

from setuptools.build_meta import *  # noqa: F403 -- a build backend is a module with these functions
from setuptools.build_meta import get_requires_for_build_wheel as _get_requires

MANUAL = ["click>=8.2", "myst-parser>=5", "sphinx>=9"]
ZIG = "ziglang==0.17.1"
EVERY_MACHINE = os.environ.get("PATHLAB_WHEEL_MACHINES") == "all"


def get_requires_for_build_wheel(config_settings: dict[str, object] | None = None) -> list[str]:
    """What pip installs before it builds a wheel."""
    return [*_get_requires(config_settings), *MANUAL, *([ZIG] if EVERY_MACHINE else [])]
