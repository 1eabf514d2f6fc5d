"""Single trials: the throughput of each stream, and all series of a trial over time."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from pathlab.errors import UsageError
from pathlab.report.base.blocks import Block, Fold, Paragraph, Question, Section, list_blocks
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyPlot
from pathlab.report.flows.recommendation_text import SHOWN_IN_FULL
from pathlab.report.plots.model import Panel, Plot, Span
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.trials.contributions import list_contribution_blocks
from pathlab.report.trials.trial_panels import (
    build_loads,
    build_rates,
    build_retransmits,
    build_round_trips,
    build_windows,
)
from pathlab.store.capture_files import ENDS, locate_capture
from pathlab.store.flags import Flag, Status
from pathlab.store.interval_histograms import PROBE_HISTOGRAMS
from pathlab.store.records import TrialRecord
from pathlab.study.base.cells import MEDIA, MeasuredCondition, sort_by_throughput
from pathlab.study.base.selection import choose_evenly
from pathlab.study.base.trial_series import (
    StreamTable,
    build_core_loads,
    build_probes,
    build_stream_table,
    read_columns,
    sum_retransmits,
)
from pathlab.study.base.trials import find_medium
from pathlab.study.flows.streams import find_drtt_bound, measure_drtt, measure_probe_loss
from pathlab.units import format_bytes, format_rate, format_ratio, format_time

CONTRIBUTIONS_MAX, TRIALS_MAX = 12, 16  # figures of a page, over all paths
_SENDER = ("index", "stream", "start_ns", "end_ns", "rtt_us", "snd_cwnd_segments", "snd_cwnd_bytes")
SERIES = {
    "receiver_intervals": ("index", "stream", "start_ns", "end_ns", "bytes"),
    "sender_intervals": (*_SENDER, "snd_mss_bytes", "total_retrans_segments", "bytes"),
    "loaded_probes": ("sent_ns", "rtt_ns", "waited_ns"),
    "unloaded_probes": ("sent_ns", "rtt_ns", "waited_ns"),
    **dict.fromkeys(PROBE_HISTOGRAMS.values(), ("start_ns",)),
    "sender_cpu": ("time_ns", "core", "idle_ratio"),
    "receiver_cpu": ("time_ns", "core", "idle_ratio"),
}
SERIES_NAMES = {
    "receiver_intervals": "the receiver's rates",
    "sender_intervals": "the sender's TCP",
    "loaded_probes": "probes under load",
    "unloaded_probes": "probes without load",
    "sender_cpu": "the sender's cores",
    "receiver_cpu": "the receiver's cores",
}


def build_over_time(inputs: ReportInputs) -> Iterator[Section]:
    """A trial of each recommended combination, as far as a page has room for them; none without any."""
    result = {condition.key: condition for condition in inputs.study.conditions()}
    every = [
        (answer.result.name, prepare_plot(plot_trial(inputs, cell.choose_trial())))
        for answer in inputs.study.recommend()[:TRIALS_MAX]
        if (chosen := answer.result.recommended) is not None
        for cell in result[answer.condition].all_cells
        if (cell.streams, cell.window_bytes) == chosen.levels
    ]
    plots = {name: plot for name, plot in every if plot.empty is None}
    if not plots:
        return
    title = "The recommended combination over time"
    blocks: list[Block] = list(plots.values())
    if len(plots) > SHOWN_IN_FULL:
        title = "The recommended combinations over time"
        blocks = [Fold(title=f"{name}: {plot.title}", blocks=(plot,)) for name, plot in plots.items()]
    yield Section(key="over-time", title=title, blocks=tuple(blocks))


def build_trials(inputs: ReportInputs, shown: Sequence[Section] = ()) -> Section:
    """Shares of the streams, and one trial of each combination, as far as a page has room for them.

    Without the figures of the sections ``shown``.
    """
    drawn = {block.name for item in shown for block in list_blocks(item.blocks) if isinstance(block, Plot)}
    conditions = _list_conditions(inputs)
    blocks: list[Block] = []
    for condition in conditions:
        several = [cell for cell in condition.measured_cells if cell.streams > 1]
        cells = choose_evenly(sort_by_throughput(several), CONTRIBUTIONS_MAX // len(conditions))
        blocks += _fold_plots(
            [list_contribution_blocks(inputs, condition, cell).build() for cell in cells],
            f"What each stream carried, other combinations of {condition.name}",
        )
        kept = [cell for cell in condition.all_cells if len(cell.complete)]  # with round trips alone too
        cells = choose_evenly(sort_by_throughput(kept), TRIALS_MAX // len(conditions))
        numbers = [cell.choose_trial() for cell in cells]
        blocks += _fold_plots(
            [
                prepare_plot(plot_trial(inputs, number))
                for number in numbers
                if f"trial-{number}" not in drawn
            ],
            f"A trial of each other combination of {condition.name}",
            opened=int(not any(f"trial-{number}" in drawn for number in numbers)),
        )
    if not blocks:
        text = "The trials of all combinations are drawn above." if drawn else "No trial completed."
        blocks.append(Paragraph(text=text))
    blocks.insert(0, Paragraph(text=_introduce(inputs), note=True))
    return Section(key="trials", title="Streams and trials", blocks=tuple(blocks), question=Question.TRIALS)


def list_trial_plots(inputs: ReportInputs) -> Iterator[LazyPlot]:
    """The figures of the streams of every combination; none is made."""
    for condition in _list_conditions(inputs):
        for cell in condition.measured_cells:
            if cell.streams > 1:
                yield list_contribution_blocks(inputs, condition, cell)


def find_trial_plot(inputs: ReportInputs, name: str) -> Plot | None:
    """The figure ``trial-N`` or ``contributions-…`` of that name; None where there is none."""
    kind, _, number = name.partition("-")
    if kind == "trial" and number.isdecimal():
        return plot_trial(inputs, int(number))
    return next((lazy.build() for lazy in list_trial_plots(inputs) if lazy.name == name), None)


def plot_trial(inputs: ReportInputs, trial_id: int) -> Plot:
    """Rates, congestion windows, round trips, retransmits and cores of one trial over its time.

    A trial that kept no series gives an empty plot. Raises UsageError where there is no such trial.
    """
    record = _find_record(inputs, trial_id)
    columns = read_columns(inputs.source, trial_id, SERIES)
    received = build_stream_table(columns.get("receiver_intervals"), ("bytes",))
    sent = build_stream_table(columns.get("sender_intervals"), SERIES["sender_intervals"][4:])
    marks = _mark_steady(record)
    panels: list[Panel] = []
    joined = 1
    if received is not None:
        panels, joined = build_rates(received, "Received", marks)
    elif sent is not None and "bytes" in sent.values:
        panels, joined = build_rates(sent.only("bytes"), "Sent", marks)
    loaded, unloaded = (build_probes(columns.get(f"{kind}_probes")) for kind in ("loaded", "unloaded"))
    optional = [
        build_windows(sent, marks) if sent is not None else None,
        build_round_trips(loaded, unloaded, sent, marks),
        build_retransmits(sent, marks) if sent is not None else None,
    ]
    for end in ("sender", "receiver"):
        loads = build_core_loads(columns.get(f"{end}_cpu"))
        optional.append(build_loads(loads, end, marks) if loads is not None else None)
    panels += [panel for panel in optional if panel is not None]
    window = (
        "autotuned" if record.window_requested_bytes is None else format_bytes(record.window_requested_bytes)
    )
    return Plot(
        name=f"trial-{trial_id}",
        title=f"Trial {trial_id}, cycle {record.cycle + 1}: {record.streams} × {window}",
        condition=f"{_name_ends(inputs, trial_id)} · {_name_medium(record)} · {record.started_utc[:10]}",
        sentence=" ".join(
            filter(None, (_describe_trial(record, sent, columns, joined), _name_captures(record, trial_id)))
        ),
        panels=tuple(panels),
        shared_x=True,
        empty=None if panels else f"trial {trial_id} kept no series",
    )


def _list_conditions(inputs: ReportInputs) -> list[MeasuredCondition]:
    """Those with a complete trial, of round trips alone as well; of those of messages an even choice."""
    every = [
        condition
        for condition in inputs.study.conditions()
        if any(len(cell.complete) for cell in condition.all_cells)
    ]
    few = choose_evenly([item for item in every if item.key.is_of_messages], TRIALS_MAX)
    return [item for item in every if not item.key.is_of_messages or item in few]


def _fold_plots(plots: list[Plot], title: str, *, opened: int = 1) -> list[Block]:
    """The first plots open, the others on demand."""
    first, rest = plots[:opened], plots[opened:]
    fold = Fold(title=f"{title} ({len(rest)})", blocks=tuple(rest), detail=True)
    return [*first, fold] if rest else [*first]


def _introduce(inputs: ReportInputs) -> str:
    first = "the trial closest to the median"
    frame = inputs.study.study_table().frame
    numbers = frame["trial_id"][frame["status"] == Status.COMPLETE]
    if numbers.empty:
        return "Failed trials are drawn by 'pathlab report RESULTS --figure trial-N --out trial-N.svg'."
    return (
        f"Each combination shows {first}. Crosses on the axis: lost or late probes. Any other trial from "
        f"{numbers.min()} to {numbers.max()}: 'pathlab report RESULTS --figure trial-N --out trial-N.svg'."
    )


def _name_ends(inputs: ReportInputs, trial_id: int) -> str:
    table = inputs.study.study_table()
    index = list(table.frame["trial_id"]).index(trial_id)
    return table.conditions[index].path


def _find_record(inputs: ReportInputs, trial_id: int) -> TrialRecord:
    numbers = inputs.study.study_table().frame["trial_id"].tolist()
    if trial_id in numbers:
        return inputs.source.record(trial_id)
    known = f"trials run from {numbers[0]} to {numbers[-1]}" if numbers else "no trial was stored"
    raise UsageError(f"there is no trial {trial_id} in these results", hint=known)


def _name_medium(record: TrialRecord) -> str:
    if Flag.IMPORTED in record.flags:
        return " ".join(["imported", *([record.engine_version] if record.engine_version else [])])
    return MEDIA[find_medium(record.flags)]


def _mark_steady(record: TrialRecord) -> tuple[Span, ...]:
    if not record.steady_ns:
        return ()
    start_s = record.warmup_ns / 1e9
    return (Span(name="steady window", start=start_s, end=start_s + record.steady_ns / 1e9),)


def _name_captures(record: TrialRecord, trial_id: int) -> str:
    """The files of its packet headers, and why an end has none or not all; empty: none was requested."""
    sentences = []
    for end in ENDS:
        missing = getattr(record, f"capture_{end}_missing")
        if getattr(record, f"capture_{end}_sha256") is not None:
            packets = getattr(record, f"capture_{end}_packets")
            path = locate_capture(Path(), trial_id, end)
            sentences.append(f"Packet headers of the {end}: {path} ({packets or 0:,} packets).")
        if missing is not None:
            sentences.append(f"Not all packet headers of the {end}: {missing.rstrip('.')}.")
    return " ".join(sentences)


def _describe_trial(
    record: TrialRecord, sent: StreamTable | None, container: Container[str], joined: int
) -> str:
    """The trial's figures, the series that are missing, and how its rates were joined."""
    parts: list[str] = []
    if record.status != Status.COMPLETE:
        stage = f" at '{record.failed_stage}'" if record.failed_stage else ""
        parts.append(f"{record.status}{stage}: {record.failure or 'no reason stored'}")
    if record.throughput_bits_per_s is not None:
        parts.append(f"{format_rate(record.throughput_bits_per_s)} in the steady window")
    rise = measure_drtt(record)
    if rise is not None:
        loaded, unloaded = format_time(record.loaded_rtt_mean_ns), format_time(record.unloaded_rtt_mean_ns)
        parts.append(f"average RTT {loaded} loaded, {unloaded} unloaded (dRTT {format_time(rise)})")
    elif (bound := find_drtt_bound(record)) is not None:
        loaded = format_time(record.loaded_rtt_mean_above_ns)
        parts.append(f"average RTT above {loaded} loaded (dRTT above {format_time(bound)})")
    loss = measure_probe_loss(record, "loaded")
    if loss is not None and loss.sent:
        parts.append(f"{loss.lost} of {loss.sent} probes under load lost ({format_ratio(loss.loss_ratio)})")
    count = None if sent is None else sum_retransmits(sent)
    if count is not None:
        parts.append(f"{count:,} retransmission{'s' * (count != 1)}" if count else "no retransmission")
    for end in ("sender", "receiver"):
        busy = getattr(record, f"{end}_busiest_core_ratio")
        if busy is not None:
            parts.append(f"the {end}'s busiest core busy {format_ratio(busy)} of the steady window")
    text = "; ".join(parts)
    sentences = [f"{text[:1].upper()}{text[1:]}."] if text else []
    if joined > 1:
        sentences.append(f"Each rate is the mean of {joined} consecutive intervals.")
    counted = [kind for kind, histograms in PROBE_HISTOGRAMS.items() if histograms in container]
    if counted:
        names = " and ".join(SERIES_NAMES[kind] for kind in counted)
        sentences.append(f"Kept as histograms, so not drawn: {names}.")
    lacking = [kind for kind in SERIES_NAMES if kind not in container and kind not in counted]
    if lacking:
        sentences.append(f"Not recorded: {', '.join(SERIES_NAMES[kind] for kind in lacking)}.")
    return " ".join(sentences)
