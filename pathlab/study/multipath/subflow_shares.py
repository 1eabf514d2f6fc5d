"""What each subflow of MPTCP connections carried in the steady window, by the sender's kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.study.base.answer import Answer, Spread, measure_spread
from pathlab.study.base.selection import choose_evenly
from pathlab.study.base.trials import StudySource, TrialTable
from pathlab.study.multipath.bond_cells import BondCell, list_bond_groups
from pathlab.study.multipath.member_shares import TRIALS_PER_CELL
from pathlab.study.multipath.multipath import make_bond_answer

SUBFLOWS = "sender_subflows"
COLUMNS = (
    *("start_ns", "end_ns", "stream", "id", "local", "local_port", "remote", "remote_port"),
    *("bytes_sent", "bytes_retrans", "rtt_us"),
)
_KEY = ("stream", "id", "local", "local_port", "remote", "remote_port")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubflowShare:
    """The subflows between one pair of addresses, of all connections together, over trials.

    ``sent``: their share of all bytes sent, retransmissions included. ``retransmitted_ratio``: of their own
    bytes. ``rtt_ns``: median of the kernel's smoothed RTT.
    """

    local: str
    remote: str
    sent: Spread
    retransmitted_ratio: Spread
    rtt_ns: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class SubflowShares:
    """The subflows of one way to use several links by MPTCP; ``subflows`` in the order of their addresses."""

    name: str
    bond: str
    streams: int
    trials: int
    subflows: tuple[SubflowShare, ...]


@dataclass(frozen=True, slots=True)
class _Carried:
    """What one pair of addresses carried in one trial."""

    sent_bytes: float = 0.0
    retransmitted_bytes: float = 0.0
    rtt_ns: float = np.nan


def measure_subflow_shares(source: StudySource, table: TrialTable) -> tuple[Answer[SubflowShares], ...]:
    """Every way to use several links of which subflows were stored; the series of at most 200 trials each."""
    return tuple(
        make_bond_answer(group, cell, _describe(cell, group.streams, result))
        for group in list_bond_groups(table)
        for cell in group.bonds
        if (result := _read_cell(source, cell))
    )


def _read_cell(source: StudySource, cell: BondCell) -> list[Mapping[tuple[str, str], _Carried]]:
    names = ("trial_id", "warmup_ns", "steady_ns")
    trials = np.stack([cell.sample.get(name) for name in names], axis=1)
    subflowses = [
        read_subflows(source, int(number), (warmup_ns, warmup_ns + steady_ns))
        for number, warmup_ns, steady_ns in choose_evenly(trials.tolist(), TRIALS_PER_CELL)
    ]
    return [item for item in subflowses if item]


def read_subflows(
    source: StudySource, trial_id: int, window_ns: tuple[float, float]
) -> Mapping[tuple[str, str], _Carried]:
    """What the subflows between each pair of addresses carried in a window of the trial; empty without any.

    Counters are since a subflow began: their last values in the window less the last ones before it.
    """
    table = source.series_tables(trial_id, {SUBFLOWS: COLUMNS}).get(SUBFLOWS)
    rows: list[dict[str, Any]] = [] if table is None else table.to_pylist()
    begin_ns, end_ns = window_ns
    before: dict[tuple[Any, ...], dict[str, Any]] = {}
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    rtts: dict[tuple[str, str], list[float]] = {}
    for row in sorted(rows, key=lambda row: float(row["end_ns"])):
        key = tuple(row.get(name) for name in _KEY)
        middle = (float(row["start_ns"]) + float(row["end_ns"])) / 2
        if middle <= begin_ns:
            before[key] = row
        elif middle <= end_ns:
            last[key] = row
            if row.get("rtt_us") is not None:
                rtts.setdefault((row["local"], row["remote"]), []).append(1000.0 * row["rtt_us"])
    result: dict[tuple[str, str], _Carried] = {}
    for key, row in last.items():
        pair = row["local"], row["remote"]
        known = result.get(pair, _Carried())
        sent, again = (
            float(row.get(name) or 0) - float(before.get(key, {}).get(name) or 0)
            for name in ("bytes_sent", "bytes_retrans")
        )
        result[pair] = _Carried(
            known.sent_bytes + sent,
            known.retransmitted_bytes + again,
            float(np.median(rtts[pair])) if pair in rtts else np.nan,
        )
    return result


def _describe(
    cell: BondCell, streams: int, result: Sequence[Mapping[tuple[str, str], _Carried]]
) -> SubflowShares:
    pairs = sorted({pair for item in result for pair in item})
    totals = np.array([sum(item.sent_bytes for item in trial.values()) for trial in result])
    subflows = []
    for pair in pairs:
        carried = [trial.get(pair, _Carried()) for trial in result]
        sent = np.array([item.sent_bytes for item in carried])
        again = np.array([item.retransmitted_bytes for item in carried])
        subflows.append(
            SubflowShare(
                local=pair[0],
                remote=pair[1],
                sent=measure_spread(_divide(sent, totals)),
                retransmitted_ratio=measure_spread(_divide(again, sent)),
                rtt_ns=measure_spread(np.array([item.rtt_ns for item in carried])),
            )
        )
    return SubflowShares(
        name=cell.name,
        bond=cell.variant.bond,
        streams=streams,
        trials=len(result),
        subflows=tuple(subflows),
    )


def _divide(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)
