"""``--long`` runs what is marked so: simulations at full length, which take many minutes.

Every run of the tests has a runtime folder of its own: its locks and sockets are not those of the user,
nor of another run beside it.

Property tests draw their examples from a fixed seed, so that two runs test the same. How long an example
takes on a busy machine is not what they test.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Before numpy is imported: several processes run tests, and their threads would wait for each other's turn.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

settings.register_profile(
    "pathlab",
    settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]),
)
settings.load_profile("pathlab")

TESTS = Path(__file__).parent
ALWAYS_QUIET = ("lab", "guest")
#: Where the Makefile looks for quiet tests; to collect all tests takes half a minute.
QUIET_FOLDERS = (*ALWAYS_QUIET, "native", "integration", "ssh", "unit/runner")


@pytest.fixture(scope="session", autouse=True)
def _runtime_folder() -> Iterator[None]:
    before = os.environ.get("XDG_RUNTIME_DIR")
    with tempfile.TemporaryDirectory(prefix="pathlab-run-") as folder:  # a socket's path must be short
        os.environ["XDG_RUNTIME_DIR"] = folder
        os.environ["PATHLAB_LOCK_FOLDER"] = folder  # local agents' lock on this machine
        yield
    del os.environ["PATHLAB_LOCK_FOLDER"]
    if before is None:
        del os.environ["XDG_RUNTIME_DIR"]
    else:
        os.environ["XDG_RUNTIME_DIR"] = before


@pytest.fixture(scope="session", autouse=True)
def _no_width() -> None:
    """What is captured is as wide as in a pipe; xdist tells its workers the width of its own terminal."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture
def uncalibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hosts do by themselves is not asked in campaigns of this process: it takes two seconds each."""
    monkeypatch.setattr("pathlab.runner.hosts.environment.Environment.calibrate", lambda *_: None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run simulations at full length as well")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(TESTS)
        if folder.parts[0] in ALWAYS_QUIET:
            item.add_marker(pytest.mark.quiet)
        elif item.get_closest_marker("quiet") and not any(map(folder.is_relative_to, QUIET_FOLDERS)):
            raise pytest.UsageError(f"{folder}: the Makefile does not look for quiet tests there")
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]
