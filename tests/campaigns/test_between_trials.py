"""Between the trials of a campaign: control rows, and the wait until a path is idle again."""

from pathlib import Path
from typing import Any

import pytest

from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session
from pathlab.runner.hosts.environment import Environment
from tests.integration.conducting import AB, LAB, campaign_of, run, settings, stored
from tests.require import require_namespaces

pytestmark = pytest.mark.engine


def test_control_rows_are_marked(tmp_path: Path) -> None:
    campaign = campaign_of(
        factors={"streams": [2, 3], "transport": ["mptcp"]},
        control={"streams": 1, "every": 3, "transport": "tcp"},
    )
    run(campaign, tmp_path / "out")
    marked = [(r.streams, "control" in r.flags) for r in stored(tmp_path / "out")]
    assert marked == [(1, True), (2, False), (3, False), (1, True)]
    used = [settings(tmp_path / "out", number)["transport"]["receiver"] for number in (1, 2, 3, 4)]
    assert used == ["tcp", "mptcp", "mptcp", "tcp"]


def test_the_rest_is_seen_by_udp_where_icmp_is_not_permitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, str | int | None, str | None]] = []
    start_engine = Session.start_engine

    def listen(session: Session, subcommand: str, options: Any, **given: Any) -> EngineJob:
        if subcommand != "calibrate":
            started.append((subcommand, options.get("method"), given.get("token")))
        return start_engine(session, subcommand, options, **given)

    monkeypatch.setattr(Environment, "_is_answered", lambda _self, _path: False)
    monkeypatch.setattr(Session, "start_engine", listen)
    cool_down = {"until_idle": True, "max_wait": "60s"}
    small = {"payload": 16}  # less than a probe to an echo needs
    outcome = run(campaign_of(cycles=2, cool_down=cool_down, probes=small), tmp_path / "out")
    assert (outcome.complete, outcome.failed) == (2, 0)
    assert all("not-drained" not in r.flags for r in stored(tmp_path / "out"))
    trial = ["receive", "send", "echo", "ping", "echo", "ping"]  # loaded, then unloaded probes
    assert [name for name, _, _ in started] == [*trial, "echo", "ping", *trial]
    assert {method for name, method, _ in started if name == "ping"} == {"udp"}
    of_data = {token for name, _, token in started if name in ("send", "receive")}
    of_probes = {token for name, _, token in started if name in ("ping", "echo")}
    assert (len(of_data), len(of_probes)) == (2, 3)  # two trials, and the rest between them
    assert None not in of_data | of_probes
    assert of_data.isdisjoint(of_probes)  # those of the data cross the path in the clear


@pytest.mark.netns
def test_the_next_trial_waits_until_the_queue_has_drained(tmp_path: Path) -> None:
    require_namespaces()
    cool_down = {"until_idle": True, "max_wait": "60s", "pause": "50ms"}
    campaign = campaign_of(lab=LAB, paths=AB, cycles=2, cool_down=cool_down)
    run(campaign, tmp_path / "out")
    assert all("not-drained" not in r.flags for r in stored(tmp_path / "out"))
    blocked = campaign_of(lab=LAB, paths=AB, cycles=2, cool_down={"until_idle": True, "max_wait": "0ms"})
    run(blocked, tmp_path / "blocked")
    assert [("not-drained" in r.flags) for r in stored(tmp_path / "blocked")] == [False, True]
