"""Own results compared with a published series, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.interval import Interval, IntervalBuilder, Undecided
from pathlab.analysis.fits.message_cost import MessageCost, fit_message_cost
from pathlab.campaign.factors import find_default
from pathlab.errors import UsageError
from pathlab.reference.series import GBPS, ReferenceTable, load_table
from pathlab.study.base.answer import Answer, Spread, make_cell_answer, measure_spread
from pathlab.study.base.selection import NOT_MEASURED, VOID_FLAGS, Rules, select
from pathlab.study.base.trials import Condition, TrialTable
from pathlab.study.messages.batching import is_batched
from pathlab.study.messages.combination_names import OF_THE_TOOL
from pathlab.study.messages.message_rates import MESSAGE_SIZE, read_level

#: Transports that the published tables of TCP are set alongside.
_TCP = ("tcp", "mptcp")
#: The published column of a placement and an encoding, unbatched and batched.
_PUBLISHED = {
    ("host", "fixed"): ("ibm-streams-3.0-internode", "tcp_gbps", "tcp_batched_gbps"),
    ("process", "fixed"): ("ibm-streams-3.0-intranode", "tcp_gbps", "tcp_batched_gbps"),
    ("process", "protobuf"): (
        *("ibm-streams-2.0-facade-intranode", "tcp_normal_gbps", "tcp_batched_normal_gbps"),
    ),
    ("threaded", "fixed"): ("ibm-streams-2.0-fused-threaded", *2 * ("threaded_port_gbps",)),
    ("fused", "fixed"): ("ibm-streams-2.0-fused-threaded", *2 * ("fused_gbps",)),
}
_FAN_OUT = "ibm-streams-2.0-fan-out-intranode"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRow:
    """One level: own throughput and the published one, bit/s, and the first over the second.

    ``level`` has the unit of the overlay's ``level_name``. A side that does not have the level is None, and
    so is the ratio. ``ratio_interval`` holds the interval of the own median and half a step of the published
    figure, which was printed without scatter.
    """

    level: float
    own: Spread | None
    reference_bits_per_s: float | None
    ratio: float | None
    ratio_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceOverlay:
    """Own results of one cell and one published column, by level, ascending; ``matched`` levels have both.

    ``step_bits_per_s`` is the unit of the published figures' last digit.
    """

    reference: str
    level_name: str
    step_bits_per_s: float
    matched: int
    rows: tuple[ReferenceRow, ...]
    undecided: Undecided | None = None


def compare_with_reference(
    table: TrialTable, name: str, column: str | None
) -> tuple[Answer[ReferenceOverlay], ...]:
    """Every cell whose plan sets what the reference goes by, next to each of its columns (``quantity``).

    Levels are matched where they are equal; nothing is interpolated. Host-limited trials are taken, since the
    published figures speak of hosts as well, and are named among the warnings. Results whose plan does not
    set the level give no answer. Raises ``UsageError`` for a reference or a column that there is not.
    """
    reference = load_table(name)
    columns = _choose_columns(reference, column)
    answers = []
    for sample in select(table, Rules(flags=VOID_FLAGS, apart=reference.level, messages=True)):
        for streams, window, part in sample.by_cell():
            levels = part.read_setting(reference.level)
            known = part.exclude(np.isnan(levels), f"{reference.level}: {NOT_MEASURED}")
            if not len(known):
                continue
            for title in columns:
                rates = known.rates_bits_per_s
                overlay = compare_column(levels[~np.isnan(levels)], rates, reference, title)
                answers.append(make_cell_answer(known, (streams, window), overlay, quantity=title))
    return tuple(answers)


def fit_columns(reference: ReferenceTable) -> dict[str, MessageCost]:
    """The fit of every rate column of a table that goes by message size; empty for another table."""
    if reference.level != MESSAGE_SIZE:
        return {}
    sizes = np.array(reference.columns[MESSAGE_SIZE])
    return {
        title: fit_message_cost(sizes, sizes * 8 / np.array(reference.columns[title]))
        for title in reference.rates
    }


def find_published(condition: Condition, streams: int) -> tuple[ReferenceTable, str] | None:
    """The published table and its column, by message size, that was measured most alike; None: none was.

    The tables are of one connection; another build and another recording than the usual are no setup.
    """
    if streams != 1 or any(read_level(condition, name) != find_default(name) for name in OF_THE_TOOL):
        return None
    placement = read_level(condition, "placement")
    result = _PUBLISHED.get((str(placement), str(read_level(condition, "encoding"))))
    carried = placement in ("threaded", "fused") or read_level(condition, "transport") in _TCP
    if result is None or not carried:
        return None
    return load_table(result[0]), result[1 + is_batched(condition)]


def find_published_fan_out(condition: Condition) -> tuple[ReferenceTable, str] | None:
    """The published table and its column, all receivers together on one host, by their number.

    None: there is none.
    """
    table = load_table(_FAN_OUT)
    column = f"tcp{'_batched' * is_batched(condition)}_{condition.get(MESSAGE_SIZE)}B_gbps"
    alike = read_level(condition, "placement") == "process" and read_level(condition, "encoding") == "fixed"
    carried = alike and read_level(condition, "transport") in _TCP
    return (table, column) if carried and column in table.columns else None


def _choose_columns(reference: ReferenceTable, column: str | None) -> Sequence[str]:
    if column is None:
        return reference.rates
    if column not in reference.rates:
        raise UsageError(
            f"reference '{reference.name}' has no column '{column}'",
            hint=f"take one of: {', '.join(reference.rates)}",
        )
    return (column,)


def compare_column(
    levels: Floats, rates_bits_per_s: Floats, reference: ReferenceTable, title: str
) -> ReferenceOverlay:
    """The rates of trials at these levels alongside a published column."""
    published = dict(zip(reference.columns[reference.level], reference.columns[title], strict=True))
    rows = tuple(
        _compare_level(
            float(level),
            rates_bits_per_s[levels == level],
            published.get(float(level)),
            reference.steps[title],
        )
        for level in sorted({*published, *levels.tolist()})
    )
    matched = sum(row.ratio is not None for row in rows)
    return ReferenceOverlay(
        reference=reference.name,
        level_name=reference.level,
        step_bits_per_s=reference.steps[title] * GBPS,
        matched=matched,
        rows=rows,
        undecided=None if matched else Undecided.NO_SAMPLES,
    )


def _compare_level(
    level: float, rates_bits_per_s: Floats, published_gbps: float | None, step_gbps: float
) -> ReferenceRow:
    own = measure_spread(rates_bits_per_s) if rates_bits_per_s.size else None
    reference = None if published_gbps is None else published_gbps * GBPS
    ratio = own.median / reference if own is not None and own.median is not None and reference else None
    return ReferenceRow(
        level=level,
        own=own,
        reference_bits_per_s=reference,
        ratio=ratio,
        ratio_interval=_divide_interval(own, reference, step_gbps * GBPS / 2),
    )


def _divide_interval(own: Spread | None, reference: float | None, half_step: float) -> Interval:
    """The interval of own over published: lowest over highest to highest over lowest."""
    method = "median interval over the published figure, half a step either way"
    builder = IntervalBuilder(n=0 if own is None else own.n, method=method)
    if own is None or reference is None or reference <= half_step:
        return builder.build_undecided(Undecided.NO_SAMPLES)
    low, high, limits = own.interval.low, own.interval.high, own.interval.limits
    if low is None or high is None or limits is None:
        return builder.build_undecided(own.interval.undecided or Undecided.TOO_FEW_SAMPLES)
    most, least = reference + half_step, reference - half_step
    return builder.build(limits[0] / most, limits[1] / least).cut_at(low / most, high / least)
