"""setuptools' build backend. A wheel also needs what makes the manual pages; an editable install does not."""

from setuptools.build_meta import *  # noqa: F403 -- a build backend is a module with these functions
from setuptools.build_meta import get_requires_for_build_wheel as _get_requires

MANUAL = ["click>=8.2", "myst-parser>=5", "sphinx>=9"]


def get_requires_for_build_wheel(config_settings: dict[str, object] | None = None) -> list[str]:
    """What pip installs before it builds a wheel."""
    return [*_get_requires(config_settings), *MANUAL]
