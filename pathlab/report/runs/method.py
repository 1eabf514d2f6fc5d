"""How it was measured: plan, order, exclusions, versions, hosts; and the definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from pathlab._version import VERSION
from pathlab.analysis.verdicts.host_limits import BUSY_CORE_RATIO
from pathlab.report.base.blocks import (
    Block,
    Facts,
    Fold,
    Paragraph,
    Preformatted,
    Question,
    Section,
    TableBlock,
)
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.names import format_utc
from pathlab.report.base.phrases import format_count
from pathlab.report.base.tables import (
    build_failures_table,
    build_hosts_table,
    build_journal_table,
    build_plan_table,
    format_name,
)
from pathlab.report.flows.recommendation_text import RULE
from pathlab.store.flags import Status
from pathlab.store.trial_table import format_exact_utc
from pathlab.study.analyses import Analyses
from pathlab.study.base.links import DirectLink
from pathlab.study.base.trials import StudySource, TrialTable, is_order_drawn, list_values
from pathlab.study.runs.progress import list_lengths, survey_conditions
from pathlab.units import format_bytes, format_ratio, format_time

DEFINITIONS = (
    (
        "Throughput",
        "Bytes that the receiver counted in the steady window, over the window's length on the receiver's "
        "own clock. Decimal: 1 Mbit/s is 10⁶ bit/s. After a loss a receiver counts held-back bytes late, so "
        "a short window can exceed the line; such a trial is flagged.",
    ),
    (
        "Window",
        "The socket buffer requested, per stream and at both ends. Granted is what the kernel reports; Linux "
        "reports double the usable size. Effective is throughput per stream times the mean loaded RTT.",
    ),
    (
        "Loaded and unloaded RTT",
        "Round trips of probes sent within the steady window, and of probes sent after the traffic had ended "
        "and the queue drained.",
    ),
    (
        "dRTT",
        "RTT increase under load: average RTT of a trial's loaded probes minus that of its unloaded ones. "
        "Where the difference of medians is shown, it is labelled so.",
    ),
    (
        "RV",
        "Rate variability: 1 − min(RTT) / mean(RTT) of a trial's probes. 0 means that every round trip took "
        "equally long.",
    ),
    (
        "Loss",
        "Probes without an answer within the time-out over probes sent, pooled over the trials of a "
        "combination. The 95 % interval is over trials, since an outage loses many probes of one trial "
        "together; it needs three trials, and allows for no outage that they did not meet.",
    ),
    ("Jain's index", "(Σx)² / (n Σx²) over the streams' bytes in the steady window; 1 is equal shares."),
    (
        "95 % interval of a median",
        "Between two order statistics, widened for serial correlation. The correlation is taken at its "
        "upper 95 % limit, at most 0.7 unless the estimate is higher; 0.7 with fewer than ten trials. No "
        "assumption on the distribution. It needs six trials; with fewer it is undecided.",
    ),
    (
        "Limited by",
        "From the kernel's own times (busy, held by the receiver's window, by the send buffer), "
        "retransmits, the rise of the RTT and the hosts' cores, trial by trial. A combination has the limit "
        "of most of its trials. A host is at its limit where a core was busy for "
        f"{format_ratio(BUSY_CORE_RATIO)} or more of the time and neither windows nor a known line explain "
        "the rate.",
    ),
    ("How the recommendation is made", RULE),
    ("Clocks", "Times of one host are never compared with times of another."),
)


def build_method(inputs: ReportInputs) -> Section:
    """The chapter on plan, order, exclusions and definitions."""
    return Section(
        key="method",
        title="Trials, hosts and definitions",
        question=Question.METHOD,
        blocks=(
            Facts(items=tuple(_list_facts(inputs.study))),
            Paragraph(text=_describe_order(inputs.source)),
            *_list_exclusions(inputs.study),
            Fold(title="Definitions and rules", blocks=(Facts(items=DEFINITIONS, wide=True),), detail=True),
        ),
    )


def build_appendices(inputs: ReportInputs) -> tuple[Section, ...]:
    """For reference: failures, plan, journal, hosts, the campaign's text."""
    source, study = inputs.source, inputs.study
    sections = []
    counts = study.count_trials()
    if counts.failed or counts.interrupted:
        failures = build_failures_table("Trials that did not complete", study.study_table())
        title = "Trials that failed or were interrupted" if counts.interrupted else "Trials that failed"
        sections.append(_build_appendix("failures", title, failures))
    blocks: list[Block] = []
    if plan := study.study_plan():
        title = f"The plan, row by row ({len(plan)})"
        blocks.append(_fold(build_plan_table(title, plan, study.study_table())))
    if journal := source.journal():
        blocks.append(_fold(build_journal_table(f"Journal ({len(journal)})", journal)))
    if hosts := source.hosts():
        names = len({host.name for host in hosts})
        blocks.append(_fold(build_hosts_table(f"Hosts ({names})", hosts)))
    if source.campaign.text.strip():
        text = Preformatted(text=source.campaign.text)
        blocks.append(Fold(title="Campaign file", blocks=(text,), detail=True))
    if blocks:
        sections.append(_build_appendix("appendices", "Appendices", *blocks))
    return tuple(sections)


def _build_appendix(key: str, title: str, *blocks: Block) -> Section:
    return Section(key=key, title=title, blocks=blocks, question=Question.METHOD)


def _fold(table: TableBlock) -> Fold:
    return Fold(title=table.title, blocks=(table,), detail=True)


def _list_facts(study: Analyses) -> Iterator[tuple[str, str]]:
    """Facts of the run as label and text, each taken from the records."""
    source, counts, frame = study.study_source, study.count_trials(), study.study_table().frame
    complete = frame[frame["status"] == Status.COMPLETE]
    cycles = format_count(counts.cycles, "cycle")
    if counts.all_complete:
        yield "Trials", f"All {counts.planned} planned trials completed ({cycles})"
    else:
        outcomes = f"{counts.done} of {counts.planned} planned trials completed, {counts.failed} failed"
        interrupted = f", {counts.interrupted} interrupted" if counts.interrupted else ""
        yield "Trials", f"{outcomes}{interrupted}; {cycles}"
    if len(complete):
        first, last = (format_utc(format_exact_utc(item)) for item in complete["started_utc"].iloc[[0, -1]])
        yield "First and last trial", f"from {first} to {last}"
        yield "Steady window", _describe_windows(study.study_table())
        for label, formatter, *columns in (
            ("Warm-up before it", format_time, "warmup_ns"),
            ("Record interval", format_time, "interval_ns"),
            ("Probes", _format_probes, "probe_method", "probe_stamps"),
            ("Congestion control", _format_congestion, "congestion_requested", "congestion_sender"),
            ("Segment size", _format_segment, "mss_bytes"),
            ("Engine", lambda version: version or "not stated", "engine_version"),
        ):
            yield label, _list_different(complete, formatter, columns)
    campaign = source.campaign
    yield "Program", f"measured by PathLab {campaign.program_version}, written by PathLab {VERSION}"
    yield "Hosts", _name_hosts(source)
    yield "Profile", str(campaign.model.get("profile") or "none")
    lab = campaign.environment.get("lab")
    if isinstance(lab, dict):
        for key, value in lab.items():
            if isinstance(value, bool):
                yield f"Lab, {format_name(str(key)).lower()}", "yes" if value else "no"
            elif isinstance(value, (str, int, float)):
                yield f"Lab, {format_name(str(key)).lower()}", str(value)
    for condition in study.conditions():
        if condition.direct_link is not None:
            yield f"Lab's link under {condition.name}", _format_link(condition.direct_link)


def _name_hosts(source: StudySource) -> str:
    """Each host with its kernel, once."""
    names = {}
    for host in source.hosts():
        kernel = host.facts.get("kernel") if isinstance(host.facts, dict) else None
        release = kernel.get("release") if isinstance(kernel, dict) else kernel
        names[host.name] = f"{host.name} ({release})" if isinstance(release, str) else host.name
    return ", ".join(names[name] for name in sorted(names)) or "not stated"


def _describe_order(source: StudySource) -> str:
    """How the order came about, and on what comparisons within cycles rest."""
    campaign = source.campaign
    words = "The plan was stored before the first packet."
    if campaign.model.get("imported"):
        words = "The trials were imported: those that follow each other in time make a cycle."
    order = campaign.model.get("order")
    if order == "given":
        words += " Every cycle ran in the order that the campaign gives."
    if order == "random":
        words += (
            " Each cycle is one pass over all combinations, in a new random order (seed "
            f"{campaign.seed}), so that a slow change of the path does not favour one combination."
        )
    if is_order_drawn(campaign.model):
        return (
            f"{words} Comparisons within cycles rest on that order: their tests are exact, whatever changed "
            "over time."
        )
    return f"{words} Comparisons within cycles allow for serial correlation."


def _list_exclusions(study: Analyses) -> Iterator[Block]:
    """Counts of excluded trials, and flags of the others."""
    result = survey_conditions(study.conditions())
    text = "No trial was excluded."
    if result.excluded:
        counted = ", ".join(f"{trials} {reason}" for reason, trials in result.excluded.items())
        text = f"Excluded from medians, fits and recommendations: {counted}."
    yield Paragraph(text=f"{text} Outliers are marked but kept.")
    if result.flags:
        counted = ", ".join(f"{name} ({count})" for name, count in result.flags.items())
        yield Paragraph(text=f"Flags on complete trials: {counted}.", note=True)


def _format_link(link: DirectLink) -> str:
    bottleneck = link.bottleneck
    queue = "unlimited queue" if not link.queue_bytes else f"queue of {link.queue_bytes / 1000:g} kB"
    return (
        f"{bottleneck.rate_bits_per_s / 1e6:g} Mbit/s, {format_time(link.delay_ns)} each way, {queue}, "
        f"MTU {bottleneck.mtu_bytes} bytes; "
        f"after headers it can carry {bottleneck.data_bits_per_s / 1e6:.4g} Mbit/s of data"
    )


def _describe_windows(table: TrialTable) -> str:
    """The lengths requested of complete trials; of those by amount, the amount and the lengths measured."""
    texts = []
    for length in list_lengths(table):
        if length.duration_ns is not None:
            texts.append(format_time(length.duration_ns))
            continue
        amount = "the amount" if length.amount_bytes is None else format_bytes(length.amount_bytes)
        bounds = dict.fromkeys(map(format_time, (length.measured_ns.least, length.measured_ns.most)))
        measured = f" ({' to '.join(bounds)})" if length.measured_ns.n else ""
        texts.append(f"until {amount} had arrived{measured}")
    return "; ".join(texts)


def _format_probes(method: str | None, stamps: str | None) -> str:
    return "none" if method is None else f"{method}, stamps: {stamps or 'not stated'}"


def _format_congestion(requested: str | None, used: str | None) -> str:
    wanted = requested or "kernel's default"
    return f"requested {wanted}, in use {used or 'not read'}"


def _format_segment(size_bytes: int | None) -> str:
    return f"{size_bytes} bytes" if size_bytes else "not read"


def _list_different(frame: pd.DataFrame, formatter: Callable[..., str], columns: Sequence[str]) -> str:
    """The values of some columns as ``formatter`` words them, each different text once, in order."""
    values = dict.fromkeys(zip(*list_values(frame, columns), strict=True))
    return "; ".join(dict.fromkeys(formatter(*value) for value in values))
