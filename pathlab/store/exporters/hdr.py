"""RTTs of probes as one HdrHistogram log, an interval per trial and kind of probe, tagged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pathlab.errors import UsageError
from pathlab.store.exporting import ChosenTrial, ExportFormat, Selection, open_target
from pathlab.store.hdr_histogram import LOG_HEAD, format_log_line
from pathlab.store.steady import read_probes

LOWEST_NS = 1
HIGHEST_NS = 3_600_000_000_000
MAX_UNIT_NS = 1_000_000  # the log states each interval's largest value in ms
_KINDS = {"loaded_probes": "loaded", "unloaded_probes": "unloaded"}


def export_hdr(selection: Selection, out: Path) -> None:
    """Write the file ``out``: RTTs in ns, tags ``trial-N-loaded`` and ``trial-N-unloaded``, absolute times.

    ``loaded`` are the probes of the steady window, as in the trial's columns. Lost probes have no RTT and so
    are in no histogram; the trial's columns count them. Raises UsageError when no trial kept an answered
    probe.
    """
    comment = "#[RTT in ns, one interval per trial; lost probes are not in it]"
    trials = sorted(selection.trials, key=lambda chosen: chosen.started)
    with open_target(out, folder=False) as fresh:
        lines = [line for trial in trials for line in _format_trial(selection, trial)]
        if not lines:
            raise UsageError(
                "no trial kept an answered probe", hint="Without probes there is no RTT to export as hdr."
            )
        fresh.write_text("\n".join([comment, *LOG_HEAD, *lines, ""]), encoding="ascii", newline="\n")


def _format_trial(selection: Selection, trial: ChosenTrial) -> Iterator[str]:
    """A line for each kind of probe that the trial has answers of; its times are those of their sending."""
    for kind, word in _KINDS.items():
        table = read_probes(selection.results, trial.trial_id, kind) if kind in trial.kinds else None
        rows = table.to_pylist() if table is not None else []
        answered = [(row["sent_ns"], row["rtt_ns"]) for row in rows if row["rtt_ns"] is not None]
        if not answered:
            continue
        begin_s = trial.started.timestamp()
        sent = [sent_ns for sent_ns, _ in answered if sent_ns is not None] or [0]
        yield format_log_line(
            f"trial-{trial.trial_id}-{word}",
            begin_s + min(sent) / 1e9,
            begin_s + max(sent) / 1e9,
            np.clip(np.array([rtt_ns for _, rtt_ns in answered], dtype=np.int64), LOWEST_NS, HIGHEST_NS),
            highest=HIGHEST_NS,
            max_unit=MAX_UNIT_NS,
        )


FORMAT = ExportFormat(
    export=export_hdr, is_folder=False, ending=".hlog", needs=("loaded_probes", "unloaded_probes")
)
