"""Reads cases of tests/data/intervals.txt on stdin; writes the intervals that the Python harness makes."""

from __future__ import annotations

import json
import sys

from pathlab.agents.adapters.harness.intervals import Intervals


def write_intervals(intervals: Intervals | None) -> None:
    if intervals is None:
        return
    intervals.finish()
    for start_ns, end_ns, found in intervals.complete:
        row = {"start_ns": start_ns, "end_ns": end_ns, "round_trip_ns": found.to_json()}
        sys.stdout.write(json.dumps(row) + "\n")


def main() -> None:
    intervals = None
    for line in sys.stdin:
        kind, first, second, *times = line.split()
        if kind == "case":
            write_intervals(intervals)
            intervals = Intervals(int(first), int(second))
        elif intervals is not None:
            for _ in range(int(times[0])):
                intervals.add(int(first), int(second))
    write_intervals(intervals)


main()
