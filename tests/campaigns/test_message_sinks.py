"""Streams of messages to several receivers of a path, in both families and directions; one of them dies."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

import pathlab
from pathlab.runner.events import Event, RateNow
from tests.integration.conducting import Watch, campaign_of, run, stored
from tests.integration.processes import assert_all_end, find_engines, watching
from tests.require import require_namespaces

pytestmark = [pytest.mark.engine, pytest.mark.netns]

STAR = {
    "hosts": ["a", "b", "c", "d"],
    "routers": ["r"],
    "ipv6": True,
    "links": [{"between": [host, "r"], "delay": "1ms"} for host in "abcd"],
}
PATHS = [{"source": "a", "destination": "b", "sinks": ["c", "d"]}]


@pytest.fixture(autouse=True)
def _needs() -> None:
    require_namespaces()


def test_streams_are_shared_by_the_sinks_of_a_path(tmp_path: Path) -> None:
    factors = {
        "streams": [6],
        "message": [64],
        "message_rate": [3000],
        "reply": [False, True],
        "family": ["ipv4", "ipv6"],
    }
    outcome = run(campaign_of(factors=factors, lab=STAR, paths=PATHS), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (4, 0)
    for record in stored(tmp_path / "out"):
        assert (record.received_total_bytes, record.undelivered_bytes) == (record.sent_total_bytes, 0)
        assert not [flag for flag in record.flags if flag.endswith("-granted")]
    with pathlab.open(tmp_path / "out") as results:
        for number in range(1, 5):
            bytes_of = [
                results.series(number, f"{end}_intervals").groupby("stream")["bytes"].sum().tolist()
                for end in ("sender", "receiver")
            ]
            # In the sender's order: of each stream as much as it sent.
            assert bytes_of[0] == bytes_of[1]
            assert len(bytes_of[0]) == 6
            assert max(bytes_of[1]) - min(bytes_of[1]) <= 64
        assert len(set(results.series(1, "receiver_workers")["worker"])) == 6
        (row, *_) = results.plan()
        assert row.settings["sinks"] == "c, d"


def test_a_sink_that_dies_is_named_and_the_others_are_ended(tmp_path: Path) -> None:
    ends: list[int] = []

    def kill_once(event: Event) -> None:
        if isinstance(event, RateNow) and not ends:
            receivers = find_engines("receive")
            ends.extend(stack.enter_context(watching(*receivers, *find_engines("send"))))
            os.kill(receivers[-1], signal.SIGKILL)

    factors = {"streams": [3], "message": [64], "message_rate": [3000]}
    trial = {"warmup": "0ms", "duration": "60s", "interval": "50ms"}
    campaign = campaign_of(factors=factors, lab=STAR, paths=PATHS, trial=trial)
    with contextlib.ExitStack() as stack:
        run(campaign, tmp_path, Watch(kill_once))
        assert len(ends) == 4
        assert_all_end(ends)
    (record,) = stored(tmp_path)
    assert (record.status, record.failed_stage) == ("failed", "engine")
