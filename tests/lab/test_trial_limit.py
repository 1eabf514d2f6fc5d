"""Options of ``measure`` in a lab of known rate and delay: direction, amount, rate, and the named limit."""

from typing import NamedTuple

import pytest

from pathlab.analysis.verdicts.limits import Limit
from pathlab.campaign.load import build_campaign
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.store.flags import Flag, Status
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.study.flows.trial_limit import SingleLimit, classify_record
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

RATE_BITS_PER_S, RTT_NS = 20e6, 50_000_000
BACK_BITS_PER_S = 8e6
AMOUNT = 1_000_000
ROWS = {
    "window": {"window": "64KiB"},
    "path": {"window": "1MiB"},
    "rate": {"window": "1MiB", "pacing": "4Mbit/s", "streams": 2},
    "reverse": {"window": "1MiB", "direction": "reverse"},
    "both": {"window": "1MiB", "direction": "both"},
    "amount": {"window": "1MiB", "direction": "both", "transfer": AMOUNT, "pacing": "6Mbit/s"},
}
LINK = {"between": ["a", "b"], "rate": "20Mbit/s", "delay": "25ms", "queue": "250kB"}
DATA = {
    "format": 1,
    "name": "limits",
    "title": "Limits",
    "seed": 1,
    "order": "given",
    "design": "explicit",
    "paths": [{"source": "a", "destination": "b"}],
    "factors": {"streams": 1, "window": "auto", "direction": "forward", "transfer": "none", "pacing": "none"},
    "rows": list(ROWS.values()),
    "cycles": 2,
    "lab_retries": 4,
    "trial": {"warmup": "1s", "duration": "1500ms", "interval": "50ms"},
    "probes": {"interval": "10ms", "unloaded": 30},
    "lab": {"hosts": ["a", "b"], "links": [{**LINK, "reverse": {"rate": "8Mbit/s", "queue": "100kB"}}]},
}


class Trial(NamedTuple):
    """A trial, its limit, and the bytes that its link delivered each way."""

    record: TrialRecord
    limit: SingleLimit
    delivered_bytes: dict[str, int]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trial]:
    """By the name of its row: the trial that is disturbed least, of two or more."""
    require_engine()
    require_namespaces()
    folder = tmp_path_factory.mktemp("limits")
    campaign = build_campaign(DATA, label="limits")
    run_campaign(CampaignSource(campaign=campaign, text=""), folder, lambda _event: None)
    found: dict[str, Trial] = {}
    with Results.open(folder) as results:
        names = {row.row: _find_name(row.settings) for row in results.plan()}
        for trial_id, record in results.records_by_id().items():
            name = names[record.plan_row]
            if name in found and _rank(found[name].record) >= _rank(record):
                continue
            limit = classify_record(results, trial_id, record, reverse=name == "reverse")
            links = results.series(trial_id, "lab_links")
            delivered = links[links["name"] == "delivered_bytes"].set_index("direction")["value"]
            found[name] = Trial(record, limit, dict(delivered))
    assert found.keys() == ROWS.keys()
    assert {trial.record.status for trial in found.values()} == {Status.COMPLETE}
    return found


def _rank(record: TrialRecord) -> tuple[bool, bool, float]:
    """Higher for less disturbed: a stall of the machine lowers the rate, or ends with a burst."""
    calm = [flag not in record.flags for flag in (Flag.LAB_LIMITED, Flag.OVER_LINE_RATE)]
    return calm[0], calm[1], record.throughput_bits_per_s or 0.0


def _find_name(settings: object) -> str:
    assert isinstance(settings, dict)
    if settings["transfer_bytes"]:
        return "amount"
    if settings["pacing_bits_per_s"]:
        return "rate"
    if settings["direction"] != "forward":
        return str(settings["direction"])
    return "window" if settings["window_bytes"] == 65536 else "path"


def test_the_window_is_named_with_its_product(trials: dict[str, Trial]) -> None:
    record, limit, _ = trials["window"]
    assert record.loaded_rtt_mean_ns >= RTT_NS
    expected = pytest.approx(65536 * 8e9 / record.loaded_rtt_mean_ns, rel=0.15)
    assert record.throughput_bits_per_s == expected
    # Both ends have the same window: which of them the kernel's clock names differs from run to run.
    assert limit.verdict.limit in (Limit.RECEIVER_WINDOW, Limit.SEND_BUFFER)
    assert limit.windows_bits_per_s == pytest.approx(65536 * 8e9 / limit.windows_rtt_ns)


def test_the_path_is_named_with_what_the_link_leaves(trials: dict[str, Trial]) -> None:
    record, limit, _ = trials["path"]
    carried = pytest.approx(0.965 * RATE_BITS_PER_S, rel=0.03)
    assert record.throughput_bits_per_s == carried or Flag.OVER_LINE_RATE in record.flags
    assert limit.verdict.limit is Limit.PATH_CAPACITY
    assert limit.reading.line_bits_per_s == pytest.approx(19.3e6, rel=0.005)


def test_a_rate_is_of_all_streams_together(trials: dict[str, Trial]) -> None:
    record, limit, _ = trials["rate"]
    assert record.throughput_bits_per_s == pytest.approx(4e6, rel=0.06)
    assert limit.verdict.at_requested_rate
    assert limit.reading.requested_bits_per_s == 4e6


def test_reverse_is_limited_by_the_way_back(trials: dict[str, Trial]) -> None:
    record, limit, _ = trials["reverse"]
    assert record.throughput_bits_per_s == pytest.approx(0.965 * BACK_BITS_PER_S, rel=0.05)
    assert limit.verdict.limit is Limit.PATH_CAPACITY
    assert Flag.OVER_LINE_RATE not in record.flags


def test_both_directions_are_counted_apart(trials: dict[str, Trial]) -> None:
    record, _, delivered_bytes = trials["both"]
    # Acknowledgements of the forward data wait in the queue of the data on the way back.
    assert record.throughput_bits_per_s > 0.1 * RATE_BITS_PER_S
    assert record.throughput_reverse_bits_per_s > 0.6 * BACK_BITS_PER_S
    # A window may hold what waited behind a loss before it, but no more than the link delivered.
    assert (record.received_total_bytes or 0) < delivered_bytes["forward"]
    assert (record.received_reverse_steady_bytes or 0) < delivered_bytes["reverse"]


def test_an_amount_is_carried_in_each_direction(trials: dict[str, Trial]) -> None:
    record = trials["amount"].record
    assert AMOUNT <= record.received_total_bytes < 1.2 * AMOUNT
    assert record.received_reverse_steady_bytes is not None
    assert (record.duration_ns, record.undelivered_bytes) == (0, 0)
    assert 0.2e9 < record.steady_ns < 1.6e9  # the warm-up carried some of it
