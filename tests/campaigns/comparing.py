"""Running the recipe for the CI of others, ``action/compare-builds``, over a lab's link."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.require import require, require_engine, require_namespaces

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "action" / "compare-builds"
#: 400 kB take 0.2 s.
LAB = """
[lab]
hosts = ["a", "b"]
links = [{ between = ["a", "b"], rate = "20Mbit/s", delay = "1ms", queue = "60kB" }]
"""
#: As short as it may be: 6 transfers with each build. A wide margin is certain with so few.
SHORT = ("--cycles", "6", "--margin", "0.5", "--lab", "lab.toml", "--port", "5201", "--out", "builds")


def run_script(
    folder: Path, *words: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(SCRIPT), *words],
        cwd=folder,
        env={**os.environ, "PATH": programs, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def prepare_folder(folder: Path) -> None:
    """Write the file of the lab, where labs and iperf3 are there."""
    require(shutil.which("iperf3"), "iperf3")
    require(shutil.which("ss"), "ss (iproute2)")
    require_namespaces()
    require_engine()
    (folder / "lab.toml").write_text(LAB)
