"""Which end opens the connections of a campaign's trials, from which ports, and that no token can be seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pathlab
from pathlab.engines.spec import TrialPath
from tests.integration.running import running, write_campaign
from tests.require import require_engine, require_namespaces

pytestmark = [pytest.mark.netns, pytest.mark.engine]

RATE_SHOWN = r"trial 1/\d+ [\s\S]*?\d+(\.\d+)? [kM]bit/s"
TOKEN = re.compile(r"\b[0-9a-f]{32}\b")


# That the sender connects is what every other campaign of the tests shows.
@pytest.mark.parametrize("connect_from", [pytest.param("sender", marks=pytest.mark.long), "receiver"])
def test_the_end_that_the_path_names_connects(tmp_path: Path, connect_from: str) -> None:
    require_namespaces()
    require_engine()
    campaign = write_campaign(tmp_path, cycles=1, duration="4s")
    text = campaign.read_text(encoding="utf-8")
    stated = f'destination = "b"\nconnect_from = "{connect_from}"\n'
    campaign.write_text(text.replace('destination = "b"\n', stated), encoding="utf-8")
    with running(["run", str(campaign), "--out", "out"], tmp_path) as run:
        run.read_until(RATE_SHOWN)
        commands = [words for words in run.processes().values() if "pathlab-engine " in words.split("--")[0]]
        status, screen = run.read_to_end()
    assert status == 0, screen
    of_trial = {words.split()[1]: words for words in commands if "--token stdin" in words}
    assert {"send", "receive"} <= set(of_trial), commands
    assert not any(TOKEN.search(words) for words in commands)
    addresses = {
        name: re.findall(r"--(?:bind|address) (\S+)", of_trial[name]) for name in ("send", "receive")
    }
    direction = {name: re.findall(r"--direction (\S+)", of_trial[name]) for name in ("send", "receive")}
    with pathlab.open(tmp_path / "out") as results:
        (trial,) = results.trials().to_dict("records")
    assert trial["status"] == "complete"
    assert trial["received_total_bytes"] == trial["sent_total_bytes"] > 0
    assert trial["rejected_connections"] == 0
    listens = trial["destination_address"] if connect_from == "sender" else trial["source_address"]
    assert addresses["receive"] == [listens]
    assert set(addresses["send"]) == {trial["source_address"], trial["destination_address"]}
    way = "forward" if connect_from == "sender" else "reverse"
    assert direction == {"send": [way], "receive": [way]}


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
