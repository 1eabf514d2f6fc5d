"""``pathlab measure`` over this machine's loopback, as a process."""

from __future__ import annotations

import subprocess
import sys

from tests.patience import PATIENCE_S

SHORT = ("-t", "300ms", "--warmup", "100ms")


def measure(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pathlab", "measure", "local", "--unloaded", "5", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S)
