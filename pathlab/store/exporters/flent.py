"""Trials as data files of Flent (format 4), one each, so that its plots and tables can be used.

Each trial becomes a ``tcp_nup``, a reversed one a ``tcp_ndown``: one series per stream with the rate counted
by the receiver, warm-up and drain included, and the probes. Where the receiver kept no intervals, these are
what the sender counted, and the note says so. What Flent has no place for (which part of it is the steady
window, lost probes, settings) stands in the metadata under ``PATHLAB``, which the importer reads.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pathlab._version import VERSION
from pathlab.errors import UsageError
from pathlab.store.exporting import ChosenTrial, ExportFormat, Selection, describe_trial, open_target
from pathlab.store.steady import RECEIVER_INTERVALS, SENDER_INTERVALS, read_window

FORMAT_VERSION = 4
TEST_NAMES = {"upload": "tcp_nup", "download": "tcp_ndown"}
#: Common times of a file, at most: an interval may be stated that no trial has.
STEPS_MAX = 100_000
#: Flent's own step, where a trial states no interval and kept none.
STEP_S = 0.2
PING = "Ping (ms) ICMP"
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"

BY_SENDER = "; rates as the sender counted them: the receiver kept no intervals"
OWN = "PATHLAB"  # key of the metadata
STAMP_NS = 1000  # what stamps in seconds since 1970 may be off by, rounded up


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a time, seconds since the trial's start; None: lost. ``length_s``: of a rate's interval."""

    at_s: float
    value: float | None
    length_s: float | None = None


def export_flent(selection: Selection, out: Path) -> None:
    """Fill the folder ``out`` with ``trial-N.flent.gz``, one per trial with intervals or probes.

    Raises UsageError when no trial kept either.
    """
    files = 0
    with open_target(out, folder=True) as folder:
        for trial in selection.trials:
            node = build_file(selection, trial)
            if node is None:
                continue
            text = json.dumps(node, allow_nan=False)
            path = folder / node["metadata"]["DATA_FILENAME"]
            path.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
            files += 1
        if not files:
            raise UsageError(
                "no trial kept intervals of what was carried, or probes",
                hint="use --format iperf3 for what senders of UDP offered, or --format jsonl for everything",
            )


def build_file(selection: Selection, trial: ChosenTrial) -> dict[str, Any] | None:
    """The data file of one trial, or None when it kept nothing that Flent could show.

    ``results`` holds values at common times, null where nothing was measured nearby; ``raw_values`` what was.
    """
    carried = selection.find_carried(trial)
    rates = _read_rates(selection, trial, carried)
    probes = _read_probes(selection, trial)
    if not rates and not probes:
        return None
    last_s = max((points[-1].at_s for points in (*rates.values(), probes) if points), default=0.0)
    lengths_s = [point.length_s for points in rates.values() for point in points if point.length_s]
    usual_s = trial.record.interval_ns / 1e9 or (float(np.median(lengths_s)) if lengths_s else STEP_S)
    step_s = max(usual_s, last_s / STEPS_MAX)
    times = [round(step_s * n, 9) for n in range(int(last_s / step_s) + 2)]
    results: dict[str, list[float | None]] = {name: _place(points, times) for name, points in rates.items()}
    streams = list(results.values())
    if streams:
        total = [_add(column) for column in zip(*streams, strict=True)]
        results[f"TCP {_name_way(trial)} sum"] = total
        results[f"TCP {_name_way(trial)} avg"] = [None if v is None else v / len(streams) for v in total]
    if probes:
        results[PING] = _place(probes, times)
    begin_s = trial.started.timestamp()
    raw = {
        name: [{"t": begin_s + point.at_s, "val": point.value, "dur": point.length_s} for point in points]
        for name, points in rates.items()
    }
    if probes:
        raw[PING] = [
            {"t": begin_s + point.at_s, "val": point.value, "seq": n}
            for n, point in enumerate(probes)
            if point.value is not None
        ]
    return {
        "version": FORMAT_VERSION,
        "metadata": _build_metadata(selection, trial, results, (step_s, carried)),
        "x_values": times,
        "results": results,
        "raw_values": raw,
    }


def _build_metadata(
    selection: Selection,
    trial: ChosenTrial,
    results: Mapping[str, list[float | None]],
    steps: tuple[float, str | None],
) -> dict[str, Any]:
    """``steps``: the time between two of them, in seconds, and the series that the rates are of."""
    (step_s, carried), record, started = steps, trial.record, trial.started
    by_sender = BY_SENDER if carried == SENDER_INTERVALS else ""
    window = "auto" if record.window_requested_bytes is None else f"{record.window_requested_bytes} bytes"
    length_s = record.traffic_ns / 1e9
    return {
        "NAME": TEST_NAMES[_name_way(trial)],
        "TITLE": f"trial {trial.trial_id}: {record.streams} x {window}",
        "TIME": started.strftime(_TIME),
        "T0": started.strftime(_TIME),
        "HOST": record.destination_address or record.path_destination,
        "HOSTS": [record.destination_address or record.path_destination],
        "LOCAL_HOST": record.path_source,
        "LENGTH": length_s,
        "TOTAL_LENGTH": length_s,
        "STEP_SIZE": step_s,
        "TEST_PARAMETERS": {f"{_name_way(trial)}_streams": str(record.streams)},
        "FLENT_VERSION": None,
        "IP_VERSION": None,
        "DATA_FILENAME": f"trial-{trial.trial_id}.flent.gz",
        OWN: {
            **describe_trial(trial),
            "intervals_of": carried,
            "windows_s": _find_windows(selection, trial, carried),
        },
        "NOTE": f"exported by PathLab {VERSION} from '{selection.results.campaign.title}'{by_sender}",
        "SERIES_META": {
            name: {
                "UNITS": "ms" if name == PING else "Mbits/s",
                "RUNNER": "pathlab",
                "MEAN_VALUE": _mean(values),
            }
            for name, values in results.items()
        },
    }


def _name_way(trial: ChosenTrial) -> str:
    """Which way the host that Flent would run on sent."""
    return "download" if trial.settings.get("direction") == "reverse" else "upload"


def _read_rates(selection: Selection, trial: ChosenTrial, carried: str | None) -> dict[str, list[Point]]:
    """Mbit/s per stream at the end of each interval, as this series counted it."""
    rates: dict[str, list[Point]] = {}
    for row in selection.read_intervals(trial, carried) if carried else ():
        length_s = (row["end_ns"] - row["start_ns"]) / 1e9
        if length_s > 0 and row["bytes"] is not None:
            name = f"TCP {_name_way(trial)}::{row['stream'] + 1}"
            rate = row["bytes"] * 8 / length_s / 1e6
            rates.setdefault(name, []).append(Point(row["end_ns"] / 1e9, rate, length_s))
    return rates


def _read_probes(selection: Selection, trial: ChosenTrial) -> list[Point]:
    """RTT in ms of every probe, loaded and unloaded, by the time of sending; None: lost."""
    points: list[Point] = []
    for kind in ("loaded_probes", "unloaded_probes"):
        if kind in trial.kinds:
            rows = selection.results.series_table(trial.trial_id, kind).to_pylist()
            points += [
                Point(row["sent_ns"] / 1e9, None if row["rtt_ns"] is None else row["rtt_ns"] / 1e6)
                for row in rows
                if row["sent_ns"] is not None
            ]
    return sorted((point for point in points if point.at_s >= 0), key=lambda point: point.at_s)


def _find_windows(selection: Selection, trial: ChosenTrial, carried: str | None) -> dict[str, list[float]]:
    """Begin and end of what the trial's columns are of, in seconds since its start, each on its own clock."""
    results, number = selection.results, trial.trial_id
    windows = {
        "steady": read_window(results, number, carried or RECEIVER_INTERVALS),
        "loaded": read_window(results, number),
    }
    for kind in ("loaded_probes", "unloaded_probes"):
        name = kind.removesuffix("_probes")
        if kind in trial.kinds and windows.get(name) is None:
            sent = results.series_table(number, kind)["sent_ns"].drop_null().to_pylist()
            windows[name] = (min(sent), max(sent) + 2 * STAMP_NS) if sent else None
    return {name: [end / 1e9 for end in window] for name, window in windows.items() if window is not None}


def _place(points: list[Point], times: list[float]) -> list[float | None]:
    """Values at ``times`` by linear interpolation between neighbours no further apart than five steps."""
    known = [(point.at_s, point.value) for point in points if point.value is not None]
    if not known or len(times) < 2:
        return [None] * len(times)
    at = np.array([t for t, _ in known])
    values = np.interp(times, at, np.array([v for _, v in known]))
    reach_s = 5 * (times[1] - times[0])
    after = np.clip(np.searchsorted(at, times), 0, at.size - 1)
    before = np.clip(after - 1, 0, at.size - 1)
    placed: list[float | None] = []
    for number, t in enumerate(times):
        inside = at[0] <= t <= at[-1] and at[after[number]] - at[before[number]] <= reach_s
        placed.append(float(values[number]) if inside else None)
    return placed


def _add(column: tuple[float | None, ...]) -> float | None:
    known = [value for value in column if value is not None]
    return sum(known) if len(known) == len(column) else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _find_instead(selection: Selection, trial: ChosenTrial) -> str | None:
    carried = selection.find_carried(trial)
    return carried if carried == SENDER_INTERVALS else None


FORMAT = ExportFormat(
    export=export_flent,
    is_folder=True,
    ending="-flent",
    needs=(RECEIVER_INTERVALS, SENDER_INTERVALS, "loaded_probes", "unloaded_probes"),
    find_instead=_find_instead,
)
