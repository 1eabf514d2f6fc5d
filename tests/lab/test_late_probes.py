"""Round trips longer than the probes' time-out, against what the emulated links counted: none is a loss."""

from typing import Any

import pytest

from pathlab.campaign.load import build_campaign
from pathlab.errors import Stage
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from pathlab.store.flags import Status
from pathlab.store.results import Results
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

TIMEOUT_NS = 200_000_000
#: 3 s of traffic fill a queue of a second; each end sends once.
DEEP = {"between": ["a", "b"], "rate": "1Mbit/s", "delay": "10ms", "queue": "125kB"}
DATA: dict[str, Any] = {
    "format": 1,
    "name": "late",
    "title": "Late probes",
    "seed": 1,
    "order": "given",
    "paths": [{"source": "a", "destination": "b"}],
    "factors": {"streams": 2, "direction": ["forward", "reverse"]},
    "trial": {"warmup": "1500ms", "duration": "1500ms"},
    "probes": {"interval": "20ms", "timeout": "200ms", "unloaded": 5},
    "lab": {"hosts": ["a", "b"], "links": [DEEP]},
}


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_probes_behind_a_queue_deeper_than_their_time_out_are_late_and_not_lost(
    kind: str, tmp_path: Any
) -> None:
    require_engine()
    require_namespaces()
    udp = {"streams": 1, "transport": "udp", "pacing": "1400kbit/s"}
    data = DATA if kind == "tcp" else {**DATA, "factors": udp}
    run_campaign(
        CampaignSource(campaign=build_campaign(data, label="late"), text=""), tmp_path, lambda _: None
    )
    with Results.open(tmp_path) as results:
        for trial_id, record in results.records_by_id().items():
            assert record.status == Status.COMPLETE
            probes = results.series(trial_id, "loaded_probes")
            assert (probes["rtt_ns"] > TIMEOUT_NS).any()
            assert record.loaded_rtt_median_ns > TIMEOUT_NS
            assert record.probe_timeout_ns > 3 * TIMEOUT_NS
            links = results.series(trial_id, "lab_links")
            dropped = int(links.loc[links["name"].str.contains("dropped|lost"), "value"].sum())
            assert record.loaded_sent - record.loaded_received - (record.loaded_late or 0) <= dropped


def test_a_limit_of_the_loaded_rtt_acts_before_any_late_answer_has_come(tmp_path: Any) -> None:
    require_engine()
    require_namespaces()
    data = {**DATA, "factors": {"streams": 2}, "safety_limits": {"loaded_rtt": "150ms"}, "retries": 0}
    run_campaign(
        CampaignSource(campaign=build_campaign(data, label="late"), text=""), tmp_path, lambda _: None
    )
    with Results.open(tmp_path) as results:
        (record,) = results.records_by_id().values()
    assert (record.status, record.failed_stage) == (Status.FAILED, Stage.SAFETY_LIMIT)
    assert "150 ms" in (record.failure or "")
