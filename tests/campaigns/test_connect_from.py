"""Which end opens the connections of a campaign's trials, and from which ports."""

from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.engines.spec import TrialPath
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session
from tests.integration.conducting import LAB, campaign_of, run
from tests.require import require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]


def test_the_receiver_connects_where_the_path_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the sender connects is what every other campaign of the tests shows."""
    require_namespaces()
    start_engine, asked = Session.start_engine, dict[str, Any]()

    def start_and_keep(session: Session, subcommand: str, options: Any, **given: Any) -> EngineJob:
        asked[subcommand] = options
        return start_engine(session, subcommand, options, **given)

    monkeypatch.setattr(Session, "start_engine", start_and_keep)
    paths = [{"source": "a", "destination": "b", "connect_from": "receiver"}]
    run(campaign_of(lab=LAB, paths=paths), tmp_path / "out")
    with pathlab.open(tmp_path / "out") as results:
        (trial,) = results.trials().to_dict("records")
    assert trial["status"] == "complete"
    assert trial["received_total_bytes"] == trial["sent_total_bytes"] > 0
    assert trial["rejected_connections"] == 0
    assert asked["receive"]["bind"] == trial["source_address"]
    assert asked["send"]["address"] == trial["source_address"]
    assert asked["send"]["bind"] == trial["destination_address"]
    assert asked["send"]["direction"] == asked["receive"]["direction"] == "reverse"


def test_the_way_back_turns_the_ports_and_the_end_that_connects_too() -> None:
    path = TrialPath(
        source="a",
        destination="b",
        source_address="192.0.2.1",
        destination_address="192.0.2.2",
        connect_from="receiver",
        source_ports="5201-5300",
    )
    back = path.turned()
    assert (back.connect_from, back.source_ports, back.destination_ports) == ("sender", "0", "5201-5300")
    assert back.turned() == path
