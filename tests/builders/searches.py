"""Campaigns that search for the lossless rate, and trials on paths of which the truth is known."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from pathlab.campaign.load import build_campaign
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.runner.campaign.cycle import CycleRunner, RunParts
from pathlab.runner.campaign.interruption import Interruption
from pathlab.runner.campaign.rate_search import RateSearches
from pathlab.runner.events import Event
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from tests.builders.campaigns import make_tables
from tests.builders.stored import create_results
from tests.builders.trials import make_record

DATAGRAM_BYTES = 1000
DURATION_S = 10
SEARCH: dict[str, Any] = {"loss": "1%", "lowest": "10Mbit/s", "highest": "100Mbit/s", "resolution": "5%"}
#: What a trial of a row counts: columns of its record.
Truth = Callable[[PlanRow], Mapping[str, Any]]


def make_search_campaign(**changes: Any) -> Campaign:
    """Two searches in each of two cycles, unless changed."""
    data: dict[str, Any] = {
        "name": "capacity",
        "paths": [{"source": "local", "destination": "local"}],
        "cycles": 2,
        "factors": {"streams": 1, "transport": "udp", "datagram": DATAGRAM_BYTES, "gso": [False, True]},
        "search": SEARCH,
        "trial": {"duration": f"{DURATION_S}s"},
    }
    return build_campaign(make_tables(**{**data, **changes}), label="capacity")


def count_link(capacity_bits_per_s: float, loss_ratio: float = 0.0) -> Truth:
    """A link that drops what is above its capacity, and a share of what is left."""

    def count(row: PlanRow) -> Mapping[str, Any]:
        rate = row.cell.pacing_bits_per_s or 0
        sent = rate * DURATION_S // (8 * DATAGRAM_BYTES)
        kept = min(1.0, capacity_bits_per_s / rate) * (1 - loss_ratio)
        lost = sent - round(sent * kept)
        return {
            "udp_sent_packets": sent,
            "udp_received_packets": sent - lost,
            "udp_lost_packets": lost,
            "udp_lost_host_packets": 0,
            "udp_lost_path_packets": lost,
            "udp_sent_packets_per_s": sent / DURATION_S,
            "throughput_bits_per_s": float((sent - lost) * 8 * DATAGRAM_BYTES / DURATION_S),
        }

    return count


def count_two_paths(row: PlanRow) -> Mapping[str, Any]:
    """With GSO a faster path; without it the receiving host loses as well."""
    if row.cell.gso:
        return {**count_link(60e6)(row), "udp_reordered_packets": 3, "udp_refused_packets": 0}
    counts = count_link(48e6, 0.001)(row)
    host = counts["udp_lost_packets"] // 4
    own = {"udp_lost_host_packets": host, "udp_lost_path_packets": counts["udp_lost_packets"] - host}
    return {**counts, **own}


def make_search_trial(row: PlanRow, attempt: int, counts: Mapping[str, Any]) -> TrialRecord:
    """A complete trial of a row; ``counts`` are its columns."""
    return make_record(
        plan_row=row.row,
        attempt=attempt,
        cycle=row.cycle,
        path_source=row.path.source,
        path_destination=row.path.destination,
        duration_ns=DURATION_S * 10**9,
        datagram_bytes=DATAGRAM_BYTES,
        **counts,
    )


class FakeCycles:
    """Stores a trial for each row at once; ``stop_after`` trials it ends the run."""

    def __init__(self, results: Results, truth: Truth, stop_after: int | None = None) -> None:
        self.results, self.truth, self.stop_after = results, truth, stop_after
        self.measured: list[PlanRow] = []
        self.new_cycles: list[bool] = []
        self.stage = "engine"  # at which trials fail

    def run(self, rows: Iterable[PlanRow], _interruption: object, *, is_new_cycle: bool = True) -> str | None:
        """As ``CycleRunner.run``."""
        self.new_cycles.append(is_new_cycle)
        for row in rows:
            if self.stop_after is not None and len(self.measured) >= self.stop_after:
                return "stopped"
            attempt = self.results.attempts().get(row.row, 0) + 1
            counts = dict(self.truth(row))
            status = counts.pop("status", "complete")
            record = make_search_trial(row, attempt, counts)
            if status != "complete":
                record = dataclasses.replace(record, status=status, failed_stage=self.stage, failure="gone")
            self.results.add_trial(record, {})
            self.measured.append(row)
        return None


def run_searches(
    results: Results, campaign: Campaign, truth: Truth, stop_after: int | None = None
) -> tuple[str | None, FakeCycles, RateSearches, list[Event]]:
    """One run of the campaign's searches."""
    events: list[Event] = []
    cycles = FakeCycles(results, truth, stop_after)
    searches = RateSearches(RunParts(campaign, results, events.append), campaign.search.rule, ())
    ending = searches.run(cast(CycleRunner, cycles), Interruption(), lambda _cycle: True)
    return ending, cycles, searches, events


def write_search_results(folder: Path, truth: Truth, **changes: Any) -> Path:
    """The results of a campaign whose searches have ended."""
    campaign = make_search_campaign(**changes)
    with create_results(folder, campaign) as results:
        run_searches(results, campaign, truth)
    return folder
