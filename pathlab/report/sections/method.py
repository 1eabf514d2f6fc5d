"""How it was measured: plan, order, exclusions, versions, hosts; and what the words mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from pathlab._version import VERSION
from pathlab.analysis.verdicts.host_limits import BUSY_CORE_RATIO
from pathlab.report.blocks import Block, Facts, Fold, Paragraph, Preformatted, Section, TableBlock, TextTable
from pathlab.report.inputs import ReportInputs
from pathlab.report.recommendation_text import RULE
from pathlab.report.source import ResultsSource, format_utc
from pathlab.report.summary import PathSummary, Summary
from pathlab.report.tables import (
    format_name,
    tabulate_failures,
    tabulate_hosts,
    tabulate_journal,
    tabulate_plan,
)
from pathlab.store.records import TrialRecord
from pathlab.study.selection import Rules, select
from pathlab.units import format_ratio, format_time

DEFINITIONS = (
    (
        "Throughput",
        "Bytes that the receiver counted in the steady window, over the window's length on the receiver's "
        "own clock. Decimal: 1 Mbit/s is 10⁶ bit/s. After a loss a receiver counts held-back bytes late, so "
        "a short window can exceed the line; such a trial is flagged.",
    ),
    (
        "Window",
        "The socket buffer asked for, per stream and at both ends. Granted is what the kernel states; Linux "
        "states twice what it gives. Effective is throughput per stream times the mean loaded RTT.",
    ),
    (
        "Loaded and unloaded RTT",
        "Round trips of probes sent within the steady window, and of probes sent after the traffic had ended "
        "and the queue drained.",
    ),
    (
        "dRTT",
        "RTT increase under load: average RTT of a trial's loaded probes minus that of its unloaded ones. "
        "The difference of the medians is given beside it where it is named so.",
    ),
    (
        "RV",
        "Rate variability: 1 − min(RTT) / mean(RTT) of a trial's probes. 0 means that every round trip took "
        "equally long.",
    ),
    (
        "Loss",
        "Probes without an answer within the time-out over probes sent, pooled over the trials of a "
        "combination, with the Wilson 95 % interval. The interval takes losses for independent; bursts make "
        "it too narrow.",
    ),
    ("Jain's index", "(Σx)² / (n Σx²) over the streams' bytes in the steady window; 1 is equal shares."),
    (
        "95 % interval of a median",
        "Between two order statistics, widened for serial correlation: by its upper 95 % limit, at most 0.7 "
        "unless the estimate is higher; 0.7 with fewer than ten trials. No assumption on the distribution. "
        "It needs six trials; with fewer it is undecided.",
    ),
    (
        "Limited by",
        "From the kernel's own times (busy, held by the receiver's window, by the send buffer), "
        "retransmits, the rise of the RTT and the hosts' cores, trial by trial; of a combination what most "
        "judged trials share. A host is at its limit where a core was busy for "
        f"{format_ratio(BUSY_CORE_RATIO)} or more of the time and neither windows nor a known line explain "
        "the rate.",
    ),
    ("How the recommendation is made", RULE),
    ("Clocks", "Each end's clock is only ever compared with itself."),
)


def build_method(inputs: ReportInputs) -> Section:
    """How these results came about."""
    source, summary = inputs.source, inputs.summary
    return Section(
        key="method",
        title="How it was measured",
        blocks=(
            Facts(items=tuple(_list_facts(source, summary))),
            Paragraph(text=_tell_order(source)),
            *_list_exclusions(inputs),
            Fold(title="Definitions and rules", blocks=(Facts(items=DEFINITIONS, wide=True),)),
        ),
    )


def build_appendices(inputs: ReportInputs) -> tuple[Section, ...]:
    """What a reader may want to look up: failures, plan, journal, hosts, the campaign's own text."""
    source, summary = inputs.source, inputs.summary
    sections = []
    if summary.failures:
        failures = TableBlock(
            name="failures", title="Trials that did not complete", table=tabulate_failures(summary)
        )
        sections.append(Section(key="failures", title="Trials that failed", blocks=(failures,)))
    blocks: list[Block] = []
    if plan := source.plan():
        table = tabulate_plan(plan, summary.trials)
        blocks.append(_fold("plan", f"The plan, row by row ({len(plan)})", table))
    if journal := source.journal():
        blocks.append(
            _fold("journal", f"What happened to the run ({len(journal)})", tabulate_journal(journal))
        )
    if hosts := source.hosts():
        names = len({host.name for host in hosts})
        blocks.append(_fold("hosts", f"Hosts as they stated themselves ({names})", tabulate_hosts(hosts)))
    if source.campaign.text.strip():
        text = Preformatted(text=source.campaign.text)
        blocks.append(Fold(title="The campaign as it was given", blocks=(text,)))
    if blocks:
        sections.append(Section(key="appendices", title="Appendices", blocks=tuple(blocks)))
    return tuple(sections)


def _fold(name: str, title: str, table: TextTable) -> Fold:
    return Fold(title=title, blocks=(TableBlock(name=name, title=title, table=table),))


def _list_facts(source: ResultsSource, summary: Summary) -> Iterator[tuple[str, str]]:
    """Facts of the run as label and text, each taken from the records."""
    complete = [trial.record for trial in summary.trials if trial.complete]
    told = f"{summary.complete} complete, {len(summary.failures)} not, of {summary.planned} planned rows"
    yield "Trials", f"{told}; {summary.cycles} cycle{'s' * (summary.cycles != 1)}"
    if complete:
        first, last = (format_utc(record.started_utc) for record in (complete[0], complete[-1]))
        yield "First and last trial", f"started {first} and {last}"
        yield "Steady window", _list_different(complete, format_time, "duration_ns")
        yield "Warm-up before it", _list_different(complete, format_time, "warmup_ns")
        yield "Record interval", _list_different(complete, format_time, "interval_ns")
        yield "Probes", _list_different(complete, _format_probes, "probe_method", "probe_stamps")
        yield (
            "Congestion control",
            _list_different(complete, _format_congestion, "congestion_requested", "congestion_sender"),
        )
        yield "Segment size", _list_different(complete, _format_segment, "mss_bytes")
        yield "Engine", _list_different(complete, lambda version: version or "not stated", "engine_version")
    campaign = source.campaign
    yield "Program", f"measured by PathLab {campaign.program_version}, written by PathLab {VERSION}"
    yield "Hosts", _tell_hosts(source)
    yield "Profile", str(campaign.model.get("profile") or "none")
    lab = campaign.environment.get("lab")
    if isinstance(lab, dict):
        for key, value in lab.items():
            if isinstance(value, bool):
                yield f"Lab, {format_name(str(key)).lower()}", "yes" if value else "no"
            elif isinstance(value, (str, int, float)):
                yield f"Lab, {format_name(str(key)).lower()}", str(value)
    for path in summary.paths:
        if path.truth is not None:
            yield f"Lab's link under {path.path}", _tell_truth(path)


def _tell_hosts(source: ResultsSource) -> str:
    """Each host with its kernel, once."""
    told = {}
    for host in source.hosts():
        kernel = host.facts.get("kernel") if isinstance(host.facts, dict) else None
        release = kernel.get("release") if isinstance(kernel, dict) else kernel
        told[host.name] = f"{host.name} ({release})" if isinstance(release, str) else host.name
    return ", ".join(told[name] for name in sorted(told)) or "not stated"


def _tell_order(source: ResultsSource) -> str:
    campaign = source.campaign
    words = "The plan was stored before the first packet."
    order = campaign.model.get("order")
    if order == "fixed":
        return f"{words} Every cycle ran in the fixed order that the campaign asks for."
    if order == "random":
        return (
            f"{words} Each cycle is one pass over all combinations, in an order drawn afresh from seed "
            f"{campaign.seed}, so that a slow change of the path does not favour one combination."
        )
    return words


def _list_exclusions(inputs: ReportInputs) -> Iterator[Block]:
    """What medians and fits leave out, counted; flags on what they keep."""
    table = inputs.study.study_table()
    left: Counter[str] = Counter()
    for sample in select(table, Rules(as_requested=True)):
        for one in sample.selection.excluded:
            left[one.reason] += one.trials
    told = ", ".join(f"{trials} × {reason}" for reason, trials in sorted(left.items())) or "none"
    yield Paragraph(
        text=f"Left out of medians, fits and recommendations: {told}. None was left out for its value: "
        "outliers are named, drawn apart and kept."
    )
    flags: Counter[str] = Counter()
    for cell in inputs.summary.cells:
        flags.update(dict(cell.flags))
    if flags:
        counted = ", ".join(f"{name} ({count})" for name, count in sorted(flags.items()))
        yield Paragraph(text=f"Flags on complete trials: {counted}.", note=True)


def _tell_truth(path: PathSummary) -> str:
    truth = path.truth
    if truth is None:
        return ""
    line = truth.bottleneck
    queue = "unlimited queue" if not truth.queue_bytes else f"queue of {truth.queue_bytes / 1000:g} kB"
    return (
        f"{line.rate_bits_per_s / 1e6:g} Mbit/s, {format_time(truth.delay_ns)} each way, {queue}, "
        f"MTU {line.mtu_bytes} bytes; "
        f"after headers it can carry {line.data_bits_per_s / 1e6:.4g} Mbit/s of data"
    )


def _format_probes(method: str | None, stamps: str | None) -> str:
    return "none" if method is None else f"{method}, stamps: {stamps or 'not stated'}"


def _format_congestion(requested: str | None, used: str | None) -> str:
    wanted = requested or "kernel's default"
    return f"requested {wanted}, in use {used or 'not read'}"


def _format_segment(size_bytes: int | None) -> str:
    return f"{size_bytes} bytes" if size_bytes else "not read"


def _list_different(records: Sequence[TrialRecord], spell: Callable[..., str], *columns: str) -> str:
    """The values of some columns as ``spell`` words them, each different text once, in order."""
    values = dict.fromkeys(tuple(getattr(record, name) for name in columns) for record in records)
    return "; ".join(dict.fromkeys(spell(*value) for value in values))
