"""The tiers of the tests: which folders each one runs, how, and about how long it takes on two cores.

``python -m tests.tiers NAME [PYTEST-ARGUMENT...]`` runs a tier; the Makefile has one target for each.
Without a name it lists them. ``--slowest`` lists the slowest tests of the latest run of each tier.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
#: One JSON file per tier: seconds of each test of its latest run.
DURATIONS = ROOT / "build" / "test-durations"


@dataclass(frozen=True)
class Tier:
    """Folders of ``tests/`` that one target of the Makefile runs.

    ``parallel``: its tests run beside each other, so none may compare a rate or a time. ``length``: how many
    runs a simulation makes (``tests/length.py``). ``minutes``: on two cores, with everything built.
    ``dist``: how pytest-xdist shares tests out; by file where those of a file wait for one thing to be made.
    """

    target: str
    folders: tuple[str, ...]
    minutes: float
    what: str
    parallel: bool = True
    length: str = "standard"
    dist: str = "worksteal"


TIERS = (
    Tier(
        "test",
        ("unit", "contract", "statistics", "golden", "scripts", "native", "integration", "ssh", "smoke"),
        6,
        "every layer in short",
        length="short",
    ),
    Tier("test-statistics", ("statistics",), 3, "simulations of estimators, fits and verdicts"),
    Tier("test-campaigns", ("campaigns",), 6, "whole campaigns: faults, kills, loads, captures, SSH"),
    Tier("test-technologies", ("technologies",), 2, "messages by every technology, with its real server"),
    Tier("test-browser", ("browser",), 3, "report and explorer in Chromium"),
    Tier(
        "test-machines", ("machines", "guest"), 3, "engines of seven machines, sanitizers, valgrind, faults"
    ),
    Tier("test-release", ("release",), 4, "packages, image, wheel, documentation site", dist="loadfile"),
    Tier(
        "test-lab",
        ("lab",),
        8,
        "rates and delays against an emulated WAN; nothing may run beside",
        parallel=False,
    ),
)


def find_tier(target: str) -> Tier:
    """The tier of a target of the Makefile. Raises KeyError for another name."""
    return {tier.target: tier for tier in TIERS}[target]


def list_arguments(tier: Tier) -> list[str]:
    """The arguments of pytest for a tier."""
    words = [str(TESTS / folder) for folder in tier.folders]
    if tier.parallel:
        # One process more than cores, since many tests wait for programs.
        words += ["-n", str((os.cpu_count() or 1) + 1), "--dist", tier.dist]
    return words


def run_tier(tier: Tier, more: list[str]) -> int:
    """Run a tier in a process of its own; its exit status."""
    started = time.monotonic()
    environment = {
        "PATHLAB_TEST_LENGTH": tier.length,
        **os.environ,
        "PATHLAB_TEST_DURATIONS": str(DURATIONS / f"{tier.target}.json"),
        # Without compiled files each process compiles every test anew, which takes it 10 s.
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, "-m", "pytest", "-q", *list_arguments(tier), *more]
    status = subprocess.run(command, check=False, cwd=ROOT, env=environment).returncode
    _print(f"make {tier.target}: {time.monotonic() - started:.0f} s")
    if tier is TIERS[0]:
        _print("\nFurther tiers, with minutes on two cores (make test-all runs all):")
        _print(format_tiers(TIERS[1:]))
    return status


def format_tiers(tiers: tuple[Tier, ...] = TIERS) -> str:
    """One line for each tier."""
    return "\n".join(f"  make {tier.target:<18}{tier.minutes:>4g} min  {tier.what}" for tier in tiers)


def list_slowest(count: int) -> list[tuple[float, str]]:
    """Seconds and names of the slowest tests in the latest run of each tier, slowest first."""
    tests: list[tuple[float, str]] = []
    for path in DURATIONS.glob("*.json"):
        tests += [(seconds, name) for name, seconds in json.loads(path.read_text(encoding="utf-8")).items()]
    return sorted(tests, reverse=True)[:count]


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tiers", description=__doc__)
    parser.add_argument(
        "--slowest", type=int, metavar="N", help="list the N slowest tests of the latest runs"
    )
    parser.add_argument("target", nargs="?", choices=[tier.target for tier in TIERS])
    known, more = parser.parse_known_args()
    if known.target:
        return run_tier(find_tier(known.target), more)
    if known.slowest:
        _print("\n".join(f"{seconds:7.1f} s  {name}" for seconds, name in list_slowest(known.slowest)))
    else:
        _print(format_tiers())
    return 0


if __name__ == "__main__":
    sys.exit(main())
