"""Runs tests as if this machine were busy, so that one which needs an idle machine fails on any day.

``python -m tests.disturbed [PYTEST-ARGUMENT...]``: in every program that the tests start, a share of the
trials counts as stalled (and is measured again), as host-limited, or as beyond what the lab emulates. It
differs from run to run. Tests outside ``tests/lab`` pass; those
in it may compare what such trials measured.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Of all trials, for each of the three.
SHARE = 0.3
#: Every Python of this environment executes it as it starts.
HOOK = Path(sysconfig.get_path("purelib")) / "pathlab_disturbed.pth"
STALLED_NS = 123_000_000
CHANCE = Random()
LATEST: deque[tuple[object, bool]] = deque(maxlen=16)


def choose(thing: object) -> bool:
    """Whether a thing is among those that are disturbed: the same answer when asked again soon."""
    for known, chosen in LATEST:
        if known is thing:
            return chosen
    chosen = CHANCE.random() < SHARE
    LATEST.append((thing, chosen))
    return chosen


def disturb_stalls(module: ModuleType) -> None:
    """A program of a share of the trials did not run for a moment."""
    find = module.find_stall

    def find_stall(spec: Any, data: Any) -> Any:
        disturbed = module.Stall(program="the sender", stalled_ns=STALLED_NS) if choose(data) else None
        return find(spec, data) or disturbed

    module.find_stall = find_stall  # type: ignore[attr-defined]


def disturb_hosts(module: ModuleType) -> None:
    """A host's CPU limited the rate of a share of the trials."""
    judge = module.is_host_limited

    def is_host_limited(rate: Any, hosts: Any, *bounds: Any) -> bool:
        return choose(hosts) or judge(rate, hosts, *bounds)

    module.is_host_limited = is_host_limited  # type: ignore[attr-defined]


def disturb_labs(module: ModuleType) -> None:
    """The lab was beyond what it emulates during a share of the trials."""
    module.LabVerdict.trusted = property(lambda self: not self.reasons and not choose(self))


DISTURBED: dict[str, Callable[[ModuleType], None]] = {
    "pathlab.runner.trial.stalls": disturb_stalls,
    "pathlab.runner.trial.record": disturb_hosts,
    "pathlab.lab.verdict": disturb_labs,
}


class Finder(MetaPathFinder):
    """Finds the modules of ``DISTURBED`` as Python does, and changes each as it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a disturbed module; None for another."""
        spec = PathFinder.find_spec(name, path, target) if name in DISTURBED else None
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_disturbed(module: ModuleType) -> None:
                execute(module)
                DISTURBED[name](module)

            loader.exec_module = execute_disturbed
        return spec


def install() -> None:
    """Every module of ``DISTURBED`` that is loaded from now on is disturbed."""
    sys.meta_path.insert(0, Finder())


def main(arguments: Sequence[str]) -> int:
    """Runs pytest with the hook in place; its exit status."""
    for name in DISTURBED:
        importlib.import_module(name)  # a renamed one fails here
    HOOK.write_text(
        f"import sys; sys.path.append({str(ROOT)!r}); import tests.disturbed; tests.disturbed.install()\n"
    )
    try:
        return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode
    finally:
        HOOK.unlink()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
