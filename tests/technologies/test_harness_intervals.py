"""The harnesses in C, Python and Java make the same intervals and histograms of the same round trips."""

import base64
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pathlab.store.hdr_histogram import Histogram
from tests.machines.engines import make_native
from tests.require import require
from tests.technologies.programs import compile_java, compile_with_harness

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "agents" / "adapters"
PROGRAMS = Path(__file__).with_name("harness")
VECTORS = ROOT / "tests" / "data" / "intervals.txt"
MAX_NS = 2**62 - 1


def read_vectors() -> tuple[str, list[dict[str, Any]]]:
    """The lines of all cases, and the intervals that are to come of them."""
    lines = VECTORS.read_text(encoding="utf-8").splitlines()
    cases = [line for line in lines if line.startswith(("case ", "add "))]
    return "\n".join(cases) + "\n", [json.loads(line) for line in lines if line.startswith("{")]


def count_in_c() -> list[str]:
    require(shutil.which("cc"), "cc (apt-get install gcc libc6-dev)")
    make_native("harness")
    return [str(compile_with_harness("intervals"))]


def count_in_python() -> list[str]:
    return [sys.executable, str(PROGRAMS / "intervals.py")]


def count_in_java() -> list[str]:
    require(shutil.which("javac"), "javac (apt-get install default-jdk-headless)")
    return ["java", "-XX:+UseSerialGC", "-cp", str(compile_java("IntervalsOfJava")), "IntervalsOfJava"]


@pytest.mark.parametrize("build", [count_in_c, count_in_python, count_in_java])
def test_each_harness_makes_the_same_intervals(build: Any) -> None:
    cases, expected = read_vectors()
    done = subprocess.run(build(), input=cases, capture_output=True, text=True, check=True)
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(made) == len(expected) > 10
    for interval, wanted in zip(made, expected, strict=True):
        assert interval == wanted


def test_the_intervals_have_what_was_added_to_them() -> None:
    """By the decoder of results files, which shares no code with the harnesses."""
    cases, expected = read_vectors()
    values: list[int] = []
    for line in cases.splitlines():
        words = line.split()
        if words[0] == "add":
            values += [min(max(int(words[2]), 0), MAX_NS)] * int(words[3])
    found = [interval["round_trip_ns"] for interval in expected]
    assert sum(row["count"] for row in found) == len(values)
    at = 0
    for row in found:  # in the order in which they were added
        part = sorted(values[at : at + row["count"]])
        at += row["count"]
        assert (row["min"], row["max"]) == (part[0], part[-1])
        assert row["mean"] == pytest.approx(sum(part) / len(part), rel=1e-12)
        histogram = Histogram.decode(base64.b64decode(row["hdr"]))
        for ratio in (0.01, 0.5, 0.9, 1.0):
            value = part[math.ceil(ratio * len(part)) - 1]
            quantile = histogram.quantile_ns(ratio)
            assert value <= quantile <= value * (1 + 1 / 128) + 1
