"""Skips that are loud: what a machine lacks is named, and fails where everything must be there."""

from __future__ import annotations

import functools
import os

import pytest

from pathlab.errors import HostError
from pathlab.lab.namespaces import Namespaces


def require(condition: object, what: str) -> None:
    """Skip the test unless ``condition`` holds; fail it instead when ``PATHLAB_REQUIRE=all``."""
    if condition:
        return
    if os.environ.get("PATHLAB_REQUIRE") == "all":
        pytest.fail(f"needed and not there: {what}", pytrace=False)
    pytest.skip(f"needs {what}")


@functools.cache
def _namespaces_refusal() -> str:
    try:
        with Namespaces():
            return ""
    except HostError as error:
        return str(error)


def require_namespaces() -> None:
    """Skip or fail where this machine cannot make the lab's namespaces, quoting what it refused."""
    require(not _namespaces_refusal(), f"network namespaces: {_namespaces_refusal()}")
