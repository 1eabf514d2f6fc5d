"""How many random faults in the product the tests find: ``make mutants``.

usage: ``python -m tests.mutants [--seed N] [--count N] [--out FILE] [--mutants FILE] [PYTEST-ARGUMENT...]``

Mutants are those of cosmic-ray inside functions of ``FOLDERS``; each position has the same probability. All
tests run once under coverage. Then each mutant gets a process forked from that one, in which the functions
that it changes get their new code, and the tests that reach its line run, the quickest first, until one
fails. So only tests that run the product in their own process count. ``--mutants`` takes those that an
earlier run wrote, to compare two states of the tests; mutants whose source has changed since are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import hashlib
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("analysis", "pathlab/study", "pathlab/campaign", "agents")
TESTS = ("unit", "contract", "statistics", "golden")
#: Operators that need arguments, or change what runs when a module is imported.
LEFT_OUT = ("VariableReplacer", "VariableInserter", "RemoveDecorator")
OUTCOMES = ("killed", "time limit", "survived", "not reached")
TIME_LIMIT_S = 300
PROCESSES = int(os.environ.get("PATHLAB_MUTANT_PROCESSES", "2"))


@dataclass(frozen=True)
class Mutant:
    """A change of one file: the operator's name, which of its places, the line, and the file's SHA-256."""

    path: str
    operator: str
    occurrence: int
    line: int
    sha256: str


@dataclass
class Running:
    mutant: Mutant
    end_s: float
    report: Path


def load_operators() -> dict[str, Any]:
    """Operators of cosmic-ray without arguments, by name."""
    from cosmic_ray.operators.provider import OperatorProvider  # only this tool needs it

    provider = OperatorProvider()
    return {name: provider[name]() for name in sorted(provider) if name not in LEFT_OUT}


def walk(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from walk(child)


def list_places(path: Path, operators: dict[str, Any]) -> dict[tuple[Any, ...], list[tuple[str, int]]]:
    """The operators that can change each position of a file, with the number of the occurrence."""
    import parso

    places: dict[tuple[Any, ...], list[tuple[str, int]]] = defaultdict(list)
    nodes = list(walk(parso.parse(path.read_text(encoding="utf-8"))))
    for name, operator in operators.items():
        occurrence = 0
        for node in nodes:
            for start, end in operator.mutation_positions(node):
                places[str(path.relative_to(ROOT)), start, end].append((name, occurrence))
                occurrence += 1
    return places


def mutate(source: str, operator: Any, occurrence: int) -> str:
    """The source with one change."""
    import parso

    count = 0

    def change(node: Any) -> Any:
        nonlocal count
        for index, _ in enumerate(operator.mutation_positions(node)):
            if count == occurrence:
                node = operator.mutate(node, index)
            count += 1
        if node is not None and getattr(node, "children", None):
            node.children = [child for child in map(change, node.children) if child is not None]
        return node

    return str(change(parso.parse(source)).get_code())


def list_functions(code: CodeType, prefix: str = "") -> dict[tuple[str, int], CodeType]:
    """Code of functions and of what they contain, by qualified name and number among equal names."""
    functions: dict[tuple[str, int], CodeType] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            name = f"{prefix}.{constant.co_name}"
            number = sum(1 for other, _ in functions if other == name)
            functions[name, number] = constant
            functions |= list_functions(constant, f"{name}[{number}]")
    return functions


def find_changed(mutant: Mutant, operators: dict[str, Any]) -> dict[CodeType, CodeType]:
    """Functions that a mutant changes: old and new code. Empty where it changes none, or does not compile."""
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    try:
        changed = mutate(source, operators[mutant.operator], mutant.occurrence)
        new = list_functions(compile(changed, mutant.path, "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        return {}
    old = list_functions(compile(source, mutant.path, "exec", dont_inherit=True))
    return {old[name]: new[name] for name in old if name in new and old[name] != new[name]}


def compute_digest(path: str) -> str:
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()


def sample_mutants(seed: int, count: int) -> list[Mutant]:
    """Random mutants, at most one for a position."""
    operators = load_operators()
    places: dict[tuple[Any, ...], list[tuple[str, int]]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            places |= list_places(path, operators)
    generator = random.Random(seed)
    mutants: list[Mutant] = []
    for place in generator.sample(sorted(places), len(places)):
        path, start, _ = place
        operator, occurrence = generator.choice(places[place])
        mutant = Mutant(path, operator, occurrence, start[0], compute_digest(path))
        if find_changed(mutant, operators):
            mutants.append(mutant)
        if len(mutants) == count:
            break
    return mutants


def read_mutants(file: Path) -> list[Mutant]:
    """The mutants of an earlier run whose source is still the same."""
    rows = json.loads(file.read_text(encoding="utf-8"))
    mutants = [Mutant(**{key: row[key] for key in Mutant.__dataclass_fields__}) for row in rows]
    kept = [
        mutant
        for mutant in mutants
        if (ROOT / mutant.path).is_file() and compute_digest(mutant.path) == mutant.sha256
    ]
    sys.stderr.write(f"{len(mutants) - len(kept)} of {len(mutants)} left out: their source has changed\n")
    return kept


def import_module(path: str) -> ModuleType:
    """The module of a file of the product, under the name by which the product imports it."""
    parts = Path(path).with_suffix("").parts
    parts = parts if parts[0] == "pathlab" else ("pathlab", *parts)
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


def apply_mutant(mutant: Mutant, operators: dict[str, Any]) -> bool:
    """Give the functions of this process that a mutant changes their new code. False where there is none."""
    import_module(mutant.path)
    by_place = {
        (old.co_name, old.co_firstlineno): new for old, new in find_changed(mutant, operators).items()
    }
    source, applied = str((ROOT / mutant.path).resolve()), False
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper):
            found.cache_clear()
        if not isinstance(found, FunctionType):
            continue
        code = found.__code__
        new = by_place.get((code.co_name, code.co_firstlineno))
        if new is None or str(Path(code.co_filename).resolve()) != source:
            continue
        if code.co_freevars == new.co_freevars:
            found.__code__ = new
            applied = True
    return applied


class Mutation:
    """A pytest plugin that runs all tests once under coverage, and then what reaches each mutant."""

    def __init__(self, mutants: list[Mutant]) -> None:
        from coverage import Coverage

        self.operators = load_operators()
        self.mutants = mutants
        self.outcomes: dict[Mutant, tuple[str, str]] = {}
        self.seconds: dict[str, float] = {}
        self.running: dict[int, Running] = {}
        self.coverage = Coverage(data_file=None, source=[str(ROOT / folder) for folder in FOLDERS])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = self._run_all(session)
        data = self.coverage.get_data()
        reached = {str(Path(name).resolve()): data.contexts_by_lineno(name) for name in data.measured_files()}
        with tempfile.TemporaryDirectory() as folder:
            for number, mutant in enumerate(self.mutants):
                lines = reached.get(str((ROOT / mutant.path).resolve()), {})
                names = {name for name in lines.get(mutant.line, []) if name in items}
                sys.stderr.write(
                    f"{number + 1}/{len(self.mutants)} {mutant.path}:{mutant.line} {len(names)} tests\n"
                )
                if not names:
                    self.outcomes[mutant] = ("not reached", "")
                    continue
                self._wait_until(PROCESSES - 1)
                ordered = [items[name] for name in sorted(names, key=self.seconds.__getitem__)]
                self._start(mutant, ordered, Path(folder) / str(number))
            self._wait_until(0)
        return True

    def _run_all(self, session: pytest.Session) -> dict[str, pytest.Item]:
        """Run every test; those that passed, by name."""
        passed: dict[str, pytest.Item] = {}
        self.coverage.start()
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            self.coverage.switch_context(item.nodeid)
            started = time.perf_counter()
            reports = runtestprotocol(item, nextitem=following, log=False)
            self.seconds[item.nodeid] = time.perf_counter() - started
            if all(report.passed for report in reports):
                passed[item.nodeid] = item
        self.coverage.stop()
        sys.stderr.write(f"{len(passed)} of {len(session.items)} tests passed\n")
        return passed

    def _start(self, mutant: Mutant, items: list[pytest.Item], report: Path) -> None:
        pid = os.fork()
        if pid == 0:
            self._run_mutant(mutant, items, report)
        self.running[pid] = Running(mutant, time.monotonic() + TIME_LIMIT_S, report)

    def _wait_until(self, count: int) -> None:
        """Wait until at most ``count`` mutants are running, and end those that take too long."""
        while len(self.running) > count:
            for pid, running in list(self.running.items()):
                ended, _ = os.waitpid(pid, os.WNOHANG)
                if ended:
                    del self.running[pid]
                    text = running.report.read_text() if running.report.exists() else "killed the process"
                    self.outcomes[running.mutant] = ("killed", text) if text else ("survived", "")
                elif time.monotonic() > running.end_s:
                    del self.running[pid]
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
                    self.outcomes[running.mutant] = ("time limit", "")
            time.sleep(0.02)

    def _run_mutant(self, mutant: Mutant, items: list[pytest.Item], report: Path) -> None:
        """In a process of its own, which ends here. Writes the name of the test that failed, or nothing."""
        os.setpgid(0, 0)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        failed = ""
        if apply_mutant(mutant, self.operators):
            for item, following in zip(items, [*items[1:], None], strict=True):
                item._initrequest()  # type: ignore[attr-defined] # as for a test that runs for the first time
                reports = runtestprotocol(item, nextitem=following, log=False)
                if not all(found.passed for found in reports):
                    failed = item.nodeid
                    break
            with contextlib.suppress(BaseException):
                items[0].session._setupstate.teardown_exact(None)
        report.write_text(failed)
        os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--seed", type=int, default=32)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--mutants", type=Path, help="take the mutants that an earlier run wrote")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "mutants.json")
    options, more = parser.parse_known_args()
    mutants = (
        read_mutants(options.mutants) if options.mutants else sample_mutants(options.seed, options.count)
    )
    plugin = Mutation(mutants)
    folders = [str(ROOT / "tests" / name) for name in TESTS if (ROOT / "tests" / name).is_dir()]
    tests = [word for word in more if not word.startswith("-")] or folders
    flags = [word for word in more if word.startswith("-")]
    pytest.main(["-q", "-p", "no:cacheprovider", *flags, *tests], plugins=[plugin])
    rows = [
        {**asdict(mutant), "outcome": plugin.outcomes[mutant][0], "by": plugin.outcomes[mutant][1]}
        for mutant in mutants
        if mutant in plugin.outcomes
    ]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    counts = {name: sum(row["outcome"] == name for row in rows) for name in OUTCOMES}
    listed = ", ".join(f"{count} {name}" for name, count in counts.items())
    sys.stdout.write(f"{len(rows)} mutants: {listed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
