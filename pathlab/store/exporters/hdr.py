"""RTTs of probes as one HdrHistogram log, an interval per trial and kind of probe, tagged."""

from __future__ import annotations

from pathlib import Path

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter

from pathlab.errors import UsageError
from pathlab.store.exporting import ChosenTrial, ExportFormat, Selection, open_target
from pathlab.store.steady import read_probes

LOWEST_NS = 1
HIGHEST_NS = 3_600_000_000_000
DIGITS = 3
MAX_UNIT_NS = 1_000_000  # the log states each interval's largest value in ms
_KINDS = {"loaded_probes": "loaded", "unloaded_probes": "unloaded"}


def export_hdr(selection: Selection, out: Path) -> None:
    """Write the file ``out``: RTTs in ns, tags ``trial-N-loaded`` and ``trial-N-unloaded``, absolute times.

    ``loaded`` are the probes of the steady window, as in the trial's columns. Lost probes have no RTT and so
    are in no histogram; the trial's columns count them. Raises UsageError when no trial kept an answered
    probe.
    """
    lines = 0
    with open_target(out, folder=False) as fresh, fresh.open("w", encoding="ascii", newline="\n") as file:
        log = HistogramLogWriter(file)
        log.output_comment("[RTT in ns, one interval per trial; lost probes are not in it]")
        log.output_log_format_version()
        log.output_legend()
        for trial in sorted(selection.trials, key=lambda chosen: chosen.started):
            for kind, word in _KINDS.items():
                found = _build_histogram(selection, trial, kind) if kind in trial.kinds else None
                if found is not None:
                    file.write(f"Tag=trial-{trial.trial_id}-{word},")
                    log.output_interval_histogram(*found, MAX_UNIT_NS)
                    lines += 1
        if not lines:
            raise UsageError(
                "no trial kept an answered probe", hint="Without probes there is no RTT to export as hdr."
            )


def _build_histogram(
    selection: Selection, trial: ChosenTrial, kind: str
) -> tuple[HdrHistogram, float, float] | None:
    """The RTTs of the answered probes, and when the first and the last were sent (s since 1970)."""
    table = read_probes(selection.results, trial.trial_id, kind)
    rows = table.to_pylist() if table is not None else []
    answered = [(row["sent_ns"], row["rtt_ns"]) for row in rows if row["rtt_ns"] is not None]
    if not answered:
        return None
    histogram = HdrHistogram(LOWEST_NS, HIGHEST_NS, DIGITS)
    for _, rtt_ns in answered:
        histogram.record_value(min(max(int(rtt_ns), LOWEST_NS), HIGHEST_NS))
    begin_s = trial.started.timestamp()
    sent = [sent_ns for sent_ns, _ in answered if sent_ns is not None] or [0]
    return histogram, begin_s + min(sent) / 1e9, begin_s + max(sent) / 1e9


FORMAT = ExportFormat(
    export=export_hdr, is_folder=False, ending=".hlog", needs=("loaded_probes", "unloaded_probes")
)
