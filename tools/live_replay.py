"""Shows the live view of stored results again, as the run showed it.

    python tools/live_replay.py RESULTS               the whole run, in the time it took
    python tools/live_replay.py RESULTS --until 0.6   shows the trial at that share of the run in the time it
                                                     took, all before it at once, and ends in its middle

What the results do not keep is estimated: the expected time of a trial is the time it took.
"""

from __future__ import annotations

import argparse
import datetime
import heapq
import itertools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import pandas as pd

from pathlab.cli.console import TerminalConsole
from pathlab.cli.live import REFRESHES_PER_S, LiveView
from pathlab.runner.events import (
    CampaignEnded,
    CampaignStarted,
    Event,
    RateNow,
    RetransmissionsNow,
    RttNow,
    TrialEnded,
    TrialStarted,
)
from pathlab.store.flags import Status
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.units import SECOND_NS

#: An event and when it came, in ns since its trial's first byte.
TimedEvent = tuple[int, Event]


def list_gaps(records: Sequence[TrialRecord]) -> list[int]:
    """Time in ns from the start of each trial to that of the next; of the last one, its traffic's."""
    starts = [datetime.datetime.fromisoformat(record.started_utc) for record in records]
    gaps = [round((late - early).total_seconds() * SECOND_NS) for early, late in itertools.pairwise(starts)]
    return [*gaps, records[-1].traffic_ns] if records else []


def list_readings(results: Results, trial_id: int, row: int) -> Iterator[TimedEvent]:
    """Rates, round trips under load and retransmissions of one trial, in the order of time.

    Trials without traffic, and imported ones, have none.
    """
    if set(LISTS) <= set(results.series_kinds(trial_id)):
        lists = [list_events(results.series(trial_id, kind), row) for kind, list_events in LISTS.items()]
        yield from heapq.merge(*lists, key=itemgetter(0))


def list_rates(intervals: pd.DataFrame, row: int) -> Iterator[TimedEvent]:
    """The rate of all streams per interval."""
    totals = intervals.groupby("index").agg({"start_ns": "min", "end_ns": "max", "bytes": "sum"})
    for start_ns, end_ns, size in totals.astype(int).itertuples(index=False):
        if end_ns > start_ns:
            rate = size * 8e9 / (end_ns - start_ns)
            yield end_ns, RateNow(row=row, bits_per_s=rate, elapsed_ns=end_ns)


def list_round_trips(probes: pd.DataFrame, row: int) -> Iterator[TimedEvent]:
    """Each probe."""
    for sent_ns, rtt_ns in probes[["intended_ns", "rtt_ns"]].itertuples(index=False):
        yield int(sent_ns), RttNow(row=row, rtt_ns=None if pd.isna(rtt_ns) else int(rtt_ns))


def list_retransmissions(intervals: pd.DataFrame, row: int) -> Iterator[TimedEvent]:
    """The count over all streams, where it has changed."""
    counts = intervals.groupby("index").agg({"end_ns": "max", "total_retrans_segments": "sum"})
    changed = counts.dropna().drop_duplicates("total_retrans_segments")
    for end_ns, count in changed.astype(int).itertuples(index=False):
        yield end_ns, RetransmissionsNow(row=row, segments=count)


LISTS = {
    "receiver_intervals": list_rates,
    "loaded_probes": list_round_trips,
    "sender_intervals": list_retransmissions,
}


class LiveReplay:
    """The events of stored results in the order in which the run made them."""

    def __init__(self, results: Results, view: LiveView) -> None:
        self._results, self._view = results, view
        self._trials = list(results.records_by_id(status=Status.COMPLETE).items())
        self._gaps_ns = list_gaps([record for _, record in self._trials])
        self._settings = {planned.row: planned.settings for planned in results.plan()}

    def show(self, until_ratio: float | None) -> None:
        """Show the run in the time it took, or one trial of it after all before at once."""
        last = len(self._trials) if until_ratio is None else int(until_ratio * len(self._trials))
        self._view(
            CampaignStarted(
                name=self._results.campaign.name,
                folder=self._results.folder,
                rows=len(self._settings),
                done=0,
                estimate_ns=sum(self._gaps_ns),
                work_ns=sum(self._gaps_ns),
            )
        )
        for index, (trial_id, record) in enumerate(self._trials):
            self._start(record, self._gaps_ns[index])
            if until_ratio is None or index == last:
                self._show_readings(trial_id, record, 1.0 if until_ratio is None else until_ratio)
            if index == last:
                return
            self._view(TrialEnded(record=record, settings=self._settings[record.plan_row]))
        self._view(CampaignEnded(complete=len(self._trials), rows=len(self._settings), reason=None))

    def _start(self, record: TrialRecord, gap_ns: int) -> None:
        self._view(
            TrialStarted(
                row=record.plan_row,
                source=record.path_source,
                destination=record.path_destination,
                streams=record.streams,
                window_bytes=record.window_requested_bytes,
                estimate_ns=gap_ns,
                attempt=record.attempt,
                settings=self._settings[record.plan_row],
            )
        )

    def _show_readings(self, trial_id: int, record: TrialRecord, share: float) -> None:
        clock, passed_ns = threading.Event(), 0
        for at_ns, event in list_readings(self._results, trial_id, record.plan_row):
            if at_ns > share * record.traffic_ns:
                return
            clock.wait(max(0, at_ns - passed_ns) / SECOND_NS)
            passed_ns = max(passed_ns, at_ns)
            self._view(event)


def main() -> None:
    parser = argparse.ArgumentParser(description="Show the live view of stored results again.")
    parser.add_argument("results", type=Path)
    parser.add_argument(
        "--until", type=float, metavar="SHARE", help="end in the trial at this share of the run"
    )
    given = parser.parse_args()
    with Results.open(given.results) as results, LiveView(TerminalConsole()) as view:
        LiveReplay(results, view).show(given.until)
        if given.until is not None:
            threading.Event().wait(2 / REFRESHES_PER_S)  # the latest reading is drawn
            sys.stdout.flush()
            os._exit(0)  # the view stays as it is: leaving it would remove it


if __name__ == "__main__":
    main()
