"""One trial of a UDP flow from its series: histograms of loss and order, and the loss with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pathlab.analysis.estimators.cells import Floats
from pathlab.analysis.estimators.trial_loss import TrialLoss, pool_trial_loss
from pathlab.store.flags import Phase
from pathlab.store.records import TrialRecord
from pathlab.study.base.trial_series import Columns, read_columns
from pathlab.study.base.trials import StudySource

HISTOGRAMS, DATAGRAMS = "datagram_histograms", "receiver_datagrams"
LOSS_RUNS = "loss_runs"
#: The intervals of a trial are added to at most this number of blocks for the interval of its loss.
BLOCKS_MAX = 50
Bins = Counter[tuple[int, int]]  # counts by the lowest and the highest value of a bin


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRuns:
    """Runs of consecutive lost numbers.

    ``burst_packets`` is the mean length of the run of a lost datagram: the factor by which runs raise the
    variance of a count of lost datagrams.
    """

    runs: int
    mean_packets: float
    longest_packets: int
    burst_packets: float


def read_histograms(source: StudySource, trial_id: int) -> dict[str, Bins]:
    """The histograms of one trial by metric; none where it kept none. Raises StoreError."""
    table = source.series_tables(trial_id, {HISTOGRAMS: ("metric", "low", "high", "count")}).get(HISTOGRAMS)
    result: dict[str, Bins] = {}
    for row in table.to_pylist() if table is not None else ():
        result.setdefault(row["metric"], Counter())[row["low"], row["high"]] += row["count"]
    return result


def merge_histograms(every: Iterable[dict[str, Bins]]) -> dict[str, Bins]:
    """The histograms of several trials, added by metric."""
    merged: dict[str, Bins] = {}
    for item in every:
        for metric, bins in item.items():
            merged.setdefault(metric, Counter()).update(bins)
    return merged


def find_loss_runs(histograms: dict[str, Bins]) -> LossRuns | None:
    """The runs of lost datagrams; None without any. Bins of several lengths count as their middle."""
    bins = {(low, high): count for (low, high), count in histograms.get(LOSS_RUNS, {}).items() if count > 0}
    if not bins:
        return None
    lengths, counts = np.array([[(low + high) / 2, count] for (low, high), count in bins.items()]).T
    lost = float(lengths @ counts)
    return LossRuns(
        runs=int(counts.sum()),
        mean_packets=lost / float(counts.sum()),
        longest_packets=max(high for _, high in bins),
        burst_packets=max(1.0, float(lengths**2 @ counts) / lost),
    )


def pool_with_runs(whole: Floats, counted: Floats, runs: LossRuns | None) -> TrialLoss:
    """The share of ``counted`` in ``whole`` over trials, or blocks of one; ``runs`` None: none was seen."""
    if runs is None:
        return pool_trial_loss(whole, counted, bursts=0)
    burst = max(1.0, min(runs.burst_packets, float(whole.sum())))
    return pool_trial_loss(whole, counted, burst_packets=burst, bursts=runs.runs)


def estimate_trial_loss(source: StudySource, trial_id: int, record: TrialRecord) -> TrialLoss | None:
    """The loss of one trial; its interval is read from blocks of the steady window's intervals.

    Counts are the trial's columns; blocks show how the loss varied, and without two of them there is no
    interval. None where nothing was counted.
    """
    sent, lost = record.udp_sent_packets, record.udp_lost_packets
    if not sent or lost is None or lost > sent:
        return None
    runs = find_loss_runs(read_histograms(source, trial_id))
    columns = read_columns(source, trial_id, {DATAGRAMS: ("index", "phase", "received", "lost")})
    out, gone = _list_blocks(columns.get(DATAGRAMS))
    share = lost / sent
    if out.sum() > 0:
        out = out * (sent / out.sum())
        if gone.sum() > 0:
            gone = gone * (lost / gone.sum())
        else:  # lost after the last arrival, where no interval could count it
            gone[-1] = lost
    with_runs = pool_with_runs(out, np.minimum(gone, out), runs)
    return TrialLoss(
        trials=1,
        sent=sent,
        lost=lost,
        loss_ratio=share,
        dispersion=with_runs.dispersion,
        interval_ratio=with_runs.interval_ratio.extend_to(share),
    )


def _list_blocks(columns: Columns | None) -> tuple[Floats, Floats]:
    """Datagrams due and lost in each block of intervals of the steady window, over all streams."""
    nothing = np.empty(0), np.empty(0)
    if columns is None or not {"index", "phase", "received", "lost"} <= columns.keys():
        return nothing
    steady = columns["phase"] == Phase.STEADY
    steps, place = np.unique(columns["index"][steady], return_inverse=True)
    if steps.size < 2:
        return nothing
    blocks = min(BLOCKS_MAX, steps.size)
    block = place * blocks // steps.size
    lost, received = (np.zeros(blocks) for _ in range(2))
    np.add.at(lost, block, np.nan_to_num(columns["lost"][steady]))
    np.add.at(received, block, np.nan_to_num(columns["received"][steady]))
    lost = np.maximum(lost, 0.0)  # below 0 where late ones came in a later block
    return received + lost, lost
