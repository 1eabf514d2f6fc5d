"""Settings of all tests: fixtures of several folders, a runtime folder of their own, lengths, durations.

Every run of the tests has a runtime folder of its own: its locks and sockets are not those of the user,
nor of another run beside it.

Property tests draw their examples from a fixed seed, so that two runs test the same. How long an example
takes on a busy machine is not what they test.
"""

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.length import LENGTH

# Before numpy is imported: several processes run tests, and their threads would wait for each other's turn.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

settings.register_profile(
    "pathlab",
    settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]),
)
settings.load_profile("pathlab")

pytest_plugins = ("tests.agent_fixtures", "tests.calibration", "tests.lab.fixtures", "tests.ssh.fixtures")


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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if LENGTH == "full":
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write what each test took, set-up included, where ``tests/tiers.py`` asks for it."""
    target = os.environ.get("PATHLAB_TEST_DURATIONS")
    if not target:
        return
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    rounded = {name: round(value, 3) for name, value in seconds.items()}
    Path(target).write_text(json.dumps(rounded, indent=0) + "\n", encoding="utf-8")
