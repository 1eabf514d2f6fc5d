"""How long `pathlab` takes for what measures nothing: help of every command, a wrong option, completion.

``python benchmarks/start_up.py [--repetitions N] [--json FILE]``. Every repetition runs each line once, in
the opposite order every other time, and alongside them the interpreter alone and two peers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from pathlab.cli.main import pathlab

TARGET_S = 0.3
PROGRAM = [sys.executable, "-m", "pathlab"]
COMPLETION = {
    "_PATHLAB_COMPLETE": "bash_complete",
    "COMP_WORDS": "pathlab results show --",
    "COMP_CWORD": "3",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One command line, and what its environment has besides."""

    name: str
    words: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    own: bool = True


def walk(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command below, in the order of the help."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from walk(below, (*words, name))


def list_calls() -> list[Call]:
    """The interpreter and the peers that are here, then our own."""
    calls = [
        Call(name="python -c pass", words=[sys.executable, "-c", "pass"], own=False),
        Call(name="python -m pip --help", words=[sys.executable, "-m", "pip", "--help"], own=False),
    ]
    if (iperf3 := os.environ.get("IPERF3") or shutil.which("iperf3")) is not None:
        calls.append(Call(name="iperf3 --help", words=[iperf3, "--help"], own=False))
    calls.append(Call(name="pathlab --version", words=[*PROGRAM, "--version"]))
    for words in walk(pathlab):
        line = [*words, "--help"]
        calls.append(Call(name=" ".join(["pathlab", *line]), words=[*PROGRAM, *line]))
    wrong = ["results", "show", "--no-such-option"]
    calls.append(Call(name=" ".join(["pathlab", *wrong]), words=[*PROGRAM, *wrong]))
    calls.append(Call(name="completion of 'results show --'", words=PROGRAM, environment=COMPLETION))
    return calls


def time_call(call: Call) -> float:
    """Seconds from the process's start to its end."""
    environment = {**os.environ, **call.environment}
    start = time.perf_counter()
    subprocess.run(call.words, env=environment, capture_output=True, check=False)
    return time.perf_counter() - start


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Run all command lines in turn, and print medians and the slowest of each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=7, help="times that each is run (7)")
    parser.add_argument("--json", type=Path, help="write all times here as well")
    arguments = parser.parse_args()
    calls = list_calls()
    times: dict[str, list[float]] = {call.name: [] for call in calls}
    for call in calls:  # what is read for the first time comes from the disk
        time_call(call)
    for number in range(max(1, arguments.repetitions)):
        for call in calls if number % 2 == 0 else reversed(calls):
            times[call.name].append(time_call(call))
    _print(f"{'command line':44}{'median s':>9}{'slowest':>9}  target {TARGET_S:g} s")
    for call in calls:
        median_s, slowest_s = statistics.median(times[call.name]), max(times[call.name])
        met = "" if not call.own else "met" if median_s < TARGET_S else "MISSED"
        _print(f"{call.name:44}{median_s:>9.3f}{slowest_s:>9.3f}  {met}".rstrip())
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(times, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
