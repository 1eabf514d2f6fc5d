"""Skips that are loud: what a machine lacks is named, and fails where everything must be there."""

import functools
import os
import socket
from pathlib import Path

import pytest

from pathlab.errors import HostError
from pathlab.lab.namespaces import Namespaces
from tools.chromium import find_chromium

_IPPROTO_MPTCP = 262
_NATIVE = Path(__file__).resolve().parents[1] / "native"


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


def require_mptcp() -> None:
    """Skip or fail where this kernel has no MPTCP, or it is off."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, _IPPROTO_MPTCP).close()
    except OSError as error:
        require(False, f"a kernel with MPTCP ({error})")


def require_chromium() -> str:
    """The browser's program, of ``tests/packages.sh``."""
    program = find_chromium()
    require(program, "chromium (apt-get install chromium)")
    return str(program)


def require_engine() -> str:
    """The built engine; ``PATHLAB_TEST_ENGINE`` names another build of it, such as the one that ships."""
    path = Path(os.environ.get("PATHLAB_TEST_ENGINE") or _NATIVE / "build" / "pathlab-engine")
    require(path.is_file(), f"the native engine at {path} (make -C native engine)")
    return str(path)


def require_sanitized_engine(sanitizer: str) -> str:
    """The engine built with ``sanitizer``: ``asan`` (with UBSan) or ``tsan``."""
    path = _NATIVE / "build" / sanitizer / "pathlab-engine"
    target = {"asan": "sanitize", "tsan": "tsan"}[sanitizer]
    require(path.is_file(), f"the native engine at {path} (make -C native {target})")
    return str(path)


def require_faulty_engine() -> str:
    """The sanitized engine whose system calls fail as ``$PATHLAB_FAULTS`` says (``native/tests/faults``)."""
    path = _NATIVE / "build" / "faults" / "pathlab-engine"
    require(path.is_file(), f"the native engine at {path} (make -C native faults)")
    return str(path)
