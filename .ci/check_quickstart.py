"""usage: check_quickstart.py FOLDER PLACE

Exit status 1 with one line unless the quickstart's results in FOLDER are whole: a report, every planned trial
complete, measured in a lab of user namespaces, by the engine below PLACE.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pathlab
from pathlab.remote.engine import find_engine


def find_fault(folder: Path, place: Path) -> str | None:
    """What is not as it should be."""
    report = folder / "report.html"
    if not report.is_file() or "<svg" not in report.read_text(encoding="utf-8"):
        return f"{report} is not there, or has no figure"
    if not find_engine().is_relative_to(place):
        return f"the engine is {find_engine()}, not one below {place}"
    with pathlab.open(folder) as results:
        planned, missing = len(results.plan()), len(results.unfinished())
        environment = results.campaign.environment
    if missing or not planned:
        return f"{missing} of {planned} planned trials are not complete"
    if environment["fallback"] or environment["lab"]["privilege"] != "user-namespace":
        return f"measured in {environment['lab']}, fallback {environment['fallback']}"
    return None


if __name__ == "__main__":
    fault = find_fault(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
    sys.exit(fault and f"check_quickstart: {fault}")
