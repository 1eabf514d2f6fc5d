"""Results in memory with the interface of the store: trials of every row of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pathlab.store.flags import Status
from pathlab.store.records import CampaignRecord, HostRecord, JournalRecord, PlanRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.study.analyses import Study
from tests.builders.trials import DELAY_NS, MTU_BYTES, QUEUE_BYTES, RATE_BITS_PER_S, make_series, measure_row

Settings = Mapping[str, Any]
Series = dict[str, pd.DataFrame]

LINK: dict[str, Any] = {
    "between": ["west", "east"],
    "rate_bits_per_s": RATE_BITS_PER_S,
    "delay_ns": DELAY_NS,
    "queue_bytes": QUEUE_BYTES,
    "loss_ratio": 0.0,
    "mtu_bytes": MTU_BYTES,
}
LAB = {"backend": "emu-packet", "links": [LINK]}


class SyntheticResults:
    """A results file that never was on a disk."""

    def __init__(
        self,
        campaign: CampaignRecord,
        plan: Sequence[PlanRecord],
        trials: Sequence[TrialRecord],
        series: dict[int, Series] | None = None,
        hosts: Sequence[HostRecord] = (),
        journal: Sequence[JournalRecord] = (),
    ) -> None:
        self.campaign = campaign
        self.records = list(trials)
        self._plan = list(plan)
        self._series = {} if series is None else series
        self._hosts = list(hosts)
        self._journal = list(journal)

    def copy(self, **parts: Any) -> SyntheticResults:
        """The same results, with other ``parts``."""
        own = {"campaign": self.campaign, "plan": self._plan, "trials": self.records, "series": self._series}
        return SyntheticResults(**{**own, "hosts": self._hosts, "journal": self._journal, **parts})

    def change_trials(
        self, change: Callable[[TrialRecord], TrialRecord] = lambda record: record, /, **columns: Any
    ) -> None:
        """Pass every trial through ``change``, and set these columns."""
        self.records = [replace(change(record), **columns) for record in self.records]

    def plan(self) -> list[PlanRecord]:
        return self._plan

    def hosts(self) -> list[HostRecord]:
        return self._hosts

    def journal(self) -> list[JournalRecord]:
        return self._journal

    def trials(self) -> pd.DataFrame:
        columns = ["trial_id", *TrialRecord.__dataclass_fields__]
        rows = [{"trial_id": number, **asdict(record)} for number, record in enumerate(self.records, 1)]
        return pd.DataFrame(rows, columns=columns)

    def record(self, trial_id: int) -> TrialRecord:
        return self.records[trial_id - 1]

    def series_kinds(self, trial_id: int) -> tuple[str, ...]:
        return tuple(self._series.get(trial_id, {}))

    def series_tables(self, trial_id: int, columns: Mapping[str, Sequence[str]]) -> dict[str, pa.Table]:
        kept = {kind: frame for kind, frame in self._series.get(trial_id, {}).items() if kind in columns}
        return {
            kind: pa.Table.from_pandas(frame[[name for name in columns[kind] if name in frame]])
            for kind, frame in kept.items()
        }

    def series(self, trial_id: int, kind: str) -> pd.DataFrame:
        return self._series[trial_id][kind]


def write_results(synthetic: SyntheticResults, folder: Path) -> Path:
    """Store them as a run does; failed trials have no series."""
    with Results.create(folder, synthetic.campaign, synthetic.plan()) as results:
        for host in synthetic.hosts():
            results.add_host(host)
        for number, record in enumerate(synthetic.records, 1):
            kinds = synthetic.series_kinds(number) if record.status != Status.FAILED else ()
            tables = {
                kind: pa.Table.from_pandas(synthetic.series(number, kind), preserve_index=False)
                for kind in kinds
            }
            assert results.add_trial(record, tables) == number
    return folder


def make_campaign(**changes: Any) -> CampaignRecord:
    base = CampaignRecord(
        name="quickstart",
        title="Quickstart: streams against windows on an emulated WAN",
        digest="0" * 64,
        text='name = "quickstart"\n',
        model={"name": "quickstart", "order": "random", "cycles": 2},
        seed=20260101,
        created_utc="2026-01-02T03:04:05Z",
        program_version="0.1.0",
        environment={"lab": LAB},
    )
    return replace(base, **changes)


def make_hosts() -> list[HostRecord]:
    facts = {
        "kernel": {"release": "6.1.0-18-amd64", "machine": "x86_64"},
        "cpu": {"model": "Example CPU <4 GHz>", "cores": 2},
        "sysctl": {"net.core.rmem_max": 212992, "net.core.wmem_max": 212992},
        "offloads": None,
    }
    return [
        HostRecord(name="west", recorded_utc="2026-01-02T03:04:05Z", facts=facts),
        HostRecord(name="east", recorded_utc="2026-01-02T03:04:05Z", facts={**facts, "cpu": {"cores": 4}}),
    ]


#: Settings of a cell that does not name them.
DEFAULTS: Settings = {"streams": 1, "window_bytes": None, "congestion": "cubic"}


def plan_cycles(
    cells: Sequence[Settings], cycles: int, order: Callable[[int], Iterable[int]] = range
) -> Iterator[PlanRecord]:
    """Every cell once in each cycle, from west to east; ``order`` gives the places of the cells in a cycle.

    ``path_destination`` in a cell is where its path leads instead.
    """
    row = 0
    for cycle in range(cycles):
        for place in order(len(cells)):
            settings = {**DEFAULTS, **cells[place]}
            to = settings.pop("path_destination", "east")
            yield PlanRecord(row=row, cycle=cycle, path_source="west", path_destination=to, settings=settings)
            row += 1


def run_plan(
    plan: Iterable[PlanRecord],
    measure: Callable[[PlanRecord], TrialRecord],
    observe: Callable[[TrialRecord], Series] | None = None,
    hosts: Sequence[HostRecord] = (),
    **campaign: Any,
) -> SyntheticResults:
    """A trial of every row; ``observe``: its series."""
    rows, trials = [], []
    for row in plan:
        rows.append(row)
        trials.append(measure(row))
    series = {number: observe(one) for number, one in enumerate(trials, 1)} if observe else {}
    return SyntheticResults(make_campaign(**campaign), rows, trials, series, hosts)


def make_quickstart(
    *, cycles: int = 2, levels: Sequence[tuple[int, int | None]] | None = None, **campaign: Any
) -> SyntheticResults:
    """The quickstart: 1, 2, 4, 8 streams x 64 and 256 KiB, in an order drawn for each cycle."""
    chosen = levels or [(streams, size * 1024) for streams in (1, 2, 4, 8) for size in (64, 256)]
    cells = [{"streams": streams, "window_bytes": window} for streams, window in chosen]
    plan = plan_cycles(cells, cycles, np.random.default_rng(11).permutation)
    return run_plan(plan, measure_row, make_series, make_hosts(), **campaign)


def study(results: SyntheticResults) -> Study:
    """The analyses of results in memory."""
    return Study(results)


class BareResults(SyntheticResults):
    """A file without a single trial, a plan or hosts."""

    def __init__(self, campaign: CampaignRecord | None = None, hosts: Sequence[HostRecord] = ()) -> None:
        super().__init__(campaign or make_campaign(environment={}), [], [], {}, hosts)


def with_series(results: SyntheticResults, series: dict[str, pd.DataFrame]) -> SyntheticResults:
    """The same results, every trial with these series."""
    return results.copy(series=dict.fromkeys(range(1, len(results.records) + 1), series))


def with_order(results: SyntheticResults, order: str) -> SyntheticResults:
    """The same results of a campaign with this order within cycles: ``random`` or ``given``."""
    return results.copy(campaign=replace(results.campaign, model={**results.campaign.model, "order": order}))


def join_results(parts: Sequence[SyntheticResults]) -> SyntheticResults:
    """Several results as one campaign: plan rows and trials one behind the other."""
    plan: list[PlanRecord] = []
    trials: list[TrialRecord] = []
    for part in parts:
        shift = len(plan)
        plan += [replace(row, row=row.row + shift) for row in part.plan()]
        trials += [replace(record, plan_row=record.plan_row + shift) for record in part.records]
    return parts[0].copy(plan=plan, trials=trials, series={})
