"""JSON lines: one object per line, each with its ``type``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pathlab._version import VERSION
from pathlab.escaping import escape_controls
from pathlab.store.exporting import ExportFormat, Selection, open_target
from pathlab.store.series import serialize_series
from pathlab.store.usable import describe_record

LINES_VERSION = 1


def export_lines(selection: Selection, out: Path) -> None:
    """Write the file ``out``: what it is, campaign, hosts, plan, journal, then trials and their series."""
    with open_target(out, folder=False) as fresh, fresh.open("w", encoding="utf-8") as file:
        for line in list_lines(selection):
            file.write(escape_controls(json.dumps(line, ensure_ascii=False, allow_nan=False)) + "\n")


def list_lines(selection: Selection) -> Iterator[dict[str, Any]]:
    """The objects of the file in order; a series follows its trial, as lists by column."""
    results = selection.results
    yield {
        "type": "export",
        "lines_version": LINES_VERSION,
        "program_version": VERSION,
        "format_version": results.format_version,
    }
    yield {"type": "campaign", **asdict(results.campaign)}
    for host in results.hosts():
        yield {"type": "host", **asdict(host)}
    for row in results.plan():
        yield {"type": "plan", **asdict(row)}
    for entry in results.journal():
        yield {"type": "journal", **asdict(entry)}
    for trial in selection.trials:
        yield {
            "type": "trial",
            "trial_id": trial.trial_id,
            **describe_record(trial.record),
            "settings": dict(trial.settings),
            "origin": None if trial.origin is None else asdict(trial.origin),
        }
        for kind in trial.kinds if selection.with_series else ():
            table = results.series_table(trial.trial_id, kind)
            yield {
                "type": "series",
                "trial_id": trial.trial_id,
                "kind": kind,
                "columns": serialize_series(table),
            }


FORMAT = ExportFormat(export=export_lines, is_folder=False, ending=".jsonl")
