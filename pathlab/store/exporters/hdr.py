"""Round trips as one HdrHistogram log, format version 1.2: of messages, and of probes.

Source of the log's lines: HdrHistogram (public domain), class ``HistogramLogWriter``.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pathlab.errors import UsageError
from pathlab.store.arrays import build_scalar
from pathlab.store.exporting import ChosenTrial, ExportFormat, Selection, open_target
from pathlab.store.flags import Phase
from pathlab.store.hdr_histogram import Histogram, HistogramLayout
from pathlab.store.interval_histograms import (
    PROBE_HISTOGRAMS,
    ROUND_TRIPS,
    read_probe_histograms,
    select_phase,
    sum_histograms,
)
from pathlab.store.steady import read_probes

#: Of probes that were kept one by one: three digits, up to an hour.
LAYOUT = HistogramLayout(digits=3, lowest=1, highest=3_600_000_000_000)
MAX_UNIT_NS = 1_000_000  # the log states each interval's largest value in ms
LOG_HEAD = (
    "#[Histogram log format version 1.2]",
    '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
)
_COMMENT = "#[round trips in ns; what was lost is not in it]"


def export_hdr(selection: Selection, out: Path) -> None:
    """Write the file ``out``: round trips in ns, absolute times, a tag for each trial and kind.

    ``trial-N-messages``: messages due in the steady window, all streams together, a line for each interval.
    ``trial-N-loaded`` (of the steady window, as in the trial's columns) and ``trial-N-unloaded``: probes, one
    line; where histograms were kept instead of probes, a line for each interval. Raises UsageError when no
    trial kept a round trip.
    """
    trials = sorted(selection.trials, key=lambda chosen: chosen.started)
    with open_target(out, folder=False) as fresh:
        lines = [line for trial in trials for line in _format_trial(selection, trial)]
        if not lines:
            raise UsageError(
                "no trial kept a round trip",
                hint="hdr holds answered probes and messages that returned; use another --format",
            )
        fresh.write_text("\n".join([_COMMENT, *LOG_HEAD, *lines, ""]), encoding="ascii", newline="\n")


def _format_trial(selection: Selection, trial: ChosenTrial) -> Iterator[str]:
    begin_s, results = trial.started.timestamp(), selection.results
    for kind, intervals in PROBE_HISTOGRAMS.items():
        tag = f"trial-{trial.trial_id}-{kind.removesuffix('_probes')}"
        if kind in trial.kinds:
            table = read_probes(results, trial.trial_id, kind)
            yield from _format_probes(tag, begin_s, table) if table is not None else ()
        if intervals in trial.kinds:
            table = read_probe_histograms(results, trial.trial_id, kind)
            yield from _format_intervals(tag, begin_s, table) if table is not None else ()
    if ROUND_TRIPS in trial.kinds:
        table = select_phase(results.series_table(trial.trial_id, ROUND_TRIPS), Phase.STEADY)
        yield from _format_intervals(f"trial-{trial.trial_id}-messages", begin_s, table)


def _format_probes(tag: str, begin_s: float, probes: pa.Table) -> Iterator[str]:
    """One line of all answered probes; its times are those of their sending."""
    answered = [(row["sent_ns"], row["rtt_ns"]) for row in probes.to_pylist() if row["rtt_ns"] is not None]
    if answered:
        sent = [sent_ns for sent_ns, _ in answered if sent_ns is not None] or [0]
        rtts_ns = np.clip(np.array([rtt_ns for _, rtt_ns in answered], dtype=np.int64), 1, LAYOUT.highest)
        histogram = Histogram.count_values(rtts_ns, LAYOUT)
        yield format_log_line(tag, begin_s + min(sent) / 1e9, begin_s + max(sent) / 1e9, histogram)


def _format_intervals(tag: str, begin_s: float, rows: pa.Table) -> Iterator[str]:
    """A line for each interval with a round trip; rows of one begin are streams of one interval."""
    for start_ns in sorted(pc.unique(rows["start_ns"]).to_pylist()):
        interval = rows.filter(pc.equal(rows["start_ns"], build_scalar(start_ns, pa.int64())))
        histogram, end_ns = sum_histograms(interval), pc.max(interval["end_ns"]).as_py()
        if histogram.count:
            yield format_log_line(tag, begin_s + start_ns / 1e9, begin_s + end_ns / 1e9, histogram)


def format_log_line(tag: str, begin_s: float, end_s: float, histogram: Histogram) -> str:
    """One line of a log, without a line break, for values counted from ``begin_s`` to ``end_s``."""
    largest = int(histogram.layout.find_highest(histogram.places[-1:])[0]) / MAX_UNIT_NS
    encoded = base64.b64encode(histogram.encode()).decode("ascii")
    return f"Tag={tag},{begin_s:f},{end_s - begin_s:f},{largest:f},{encoded}"


FORMAT = ExportFormat(
    export=export_hdr,
    is_folder=False,
    ending=".hlog",
    needs=(*PROBE_HISTOGRAMS, *PROBE_HISTOGRAMS.values(), ROUND_TRIPS),
)
