"""Campaigns over technologies: what is stored, left out and tried again, and which port a server gets."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pathlab
from pathlab.campaign.load import load_campaign
from pathlab.runner.campaign.run import CampaignSource, run_campaign
from tests.integration.conducting import Watch
from tests.integration.running import ROOT
from tests.patience import PATIENCE_S
from tests.require import require, require_engine

pytestmark = [pytest.mark.engine]
HEAD = """# pathlab-adapter
# {{"contract": 1, "name": "{name}", "title": "A stub", "language": "pipe", "beneath": "tcp",
#  "server": {server}, "client": ["perl", "-e", "1"],
#  "needs": [{{"program": "{needs}", "debian": "lib{needs}"}}]}}
# end
"""
#: Technologies of the user's own: their servers, and the programs that they need.
STUBS = {
    "absent": (["perl"], "no-such-program"),
    "broken": (["perl", "-e", "die qq(no feathers\\n)"], "perl"),
}


def write_stubs(folder: Path) -> Path:
    """A folder with the stubs, and one whose server states its port as its version."""
    folder.mkdir()
    for name, (server, needs) in STUBS.items():
        text = HEAD.format(name=name, server=json.dumps(server), needs=needs)
        (folder / f"{name}.pl").write_text(text, encoding="utf-8")
    parrot = (ROOT / "tests/contract/parrot.pl").read_text(encoding="utf-8")
    (folder / "parrot.pl").write_text(parrot, encoding="utf-8")
    return folder


CAMPAIGN = """
format = 1
name = "birds"
title = "Birds"
seed = 4
order = "given"
retries = {retries}
on_missing = "{on_missing}"
[[paths]]
source = "local"
destination = "{to}"
[hosts.far]
transport = "local"
port_range = "{ports}"
[factors]
streams = {streams}
engine = {engines}
message = "64B"
reply = true
no_delay = true
[trial]
warmup = "0ms"
duration = "200ms"
[probes]
interval = "20ms"
unloaded = 0
"""


PLAIN = {"streams": "1", "on_missing": "skip", "retries": "1", "to": "local", "ports": "21870-21879"}


def run_birds(folder: Path, engines: list[str], **values: str) -> subprocess.CompletedProcess[str]:
    """Run the campaign with these technologies in a process of its own, which finds the stubs."""
    require_engine()
    text = CAMPAIGN.format(engines=json.dumps(engines), **{**PLAIN, **values})
    (folder / "birds.toml").write_text(text, encoding="utf-8")
    return call_pathlab(folder, "run", "birds.toml", "--out", "out", "--quiet")


def call_pathlab(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    stubs = folder / "stubs"
    return subprocess.run(
        [sys.executable, "-m", "pathlab", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PATHLAB_ADAPTERS": str(stubs), "COLUMNS": "400"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    require(shutil.which("perl"), "perl (apt-get install perl-base)")
    write_stubs(tmp_path / "stubs")
    return tmp_path


def test_failures_are_stored_missing_ones_left_out_and_the_rest_is_measured(folder: Path) -> None:
    done = run_birds(folder, ["broken", "absent", "parrot"], streams="[1, 2]")
    assert done.returncode == 4, done.stderr
    assert "2 of 6 trials are complete" in done.stderr
    with pathlab.open(folder / "out") as results:
        trials, entries = results.records(), results.journal()
    found = {row.settings["engine"]: 0 for row in results.plan()}
    assert set(found) == {"broken", "absent", "parrot"}
    failed = [record for record in trials if record.status == "failed"]
    assert {(record.failed_stage, record.attempt) for record in failed} == {("adapter", 1), ("adapter", 2)}
    assert len(failed) == 4  # each row twice, and more than three in a row
    assert all("broken: " in str(record.failure) for record in failed)
    assert all("no feathers" in str(record.failure) for record in failed)
    # A trial in which a host stalled is measured again.
    assert len({record.plan_row for record in trials if record.status == "complete"}) == 2
    (left_out,) = (entry.text for entry in entries if entry.kind == "left-out")
    assert left_out == "2 trials are left out: local lacks absent (apt-get install libno-such-program)"
    assert not [entry for entry in entries if entry.kind == "quarantined"]
    complete = [record for record in trials if record.status == "complete"]
    assert all(record.round_trips and not record.messages_missing for record in complete)
    assert all(record.server_start_ns and record.receiver_cpu_ns_per_message for record in complete)


def test_a_campaign_that_wants_all_is_refused_before_it_begins(folder: Path) -> None:
    done = run_birds(folder, ["absent", "parrot"], on_missing="fail")
    assert (done.returncode, (folder / "out").exists()) == (3, False)
    assert "local lacks absent" in done.stderr
    assert "fix: apt-get install libno-such-program" in done.stderr


def test_a_run_with_missing_ones_alone_ends_well_and_is_not_continued(folder: Path) -> None:
    done = run_birds(folder, ["absent", "parrot"])
    assert done.returncode == 0, done.stderr
    with pathlab.open(folder / "out") as results:
        assert results.journal()[-1].text == "1 of 2 trials are complete, 1 left out"
        assert len(results.unfinished()) == 1


def test_technologies_are_listed_with_what_they_lack(folder: Path) -> None:
    (folder / "stubs" / "odd.pl").write_text("# pathlab-adapter\n# {}\n# end\n", encoding="utf-8")
    done = call_pathlab(folder, "technologies", "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    states = {line["name"]: line for line in lines if "name" in line}
    assert states["absent"]["missing"] == ["no-such-program"]
    assert states["absent"]["debian"] == ["libno-such-program"]
    assert (states["parrot"]["missing"], states["parrot"]["host"]) == ([], "local")
    assert {line["kind"] for line in lines} == {"technology", "fault"}
    (fault,) = (line["fault"] for line in lines if line["kind"] == "fault")
    assert "odd.pl" in fault
    shown = call_pathlab(folder, "technologies").stdout
    assert "Lines of hexadecimal digits (your own)" in shown
    assert "no: libno-such-program" in shown
    assert "fix: apt-get install libno-such-program" in shown
    assert "odd.pl" in shown
    assert call_pathlab(folder, "technologies", "nowhere.invalid").returncode == 3
    unknown = run_birds(folder, ["parrot", "odd"])
    assert unknown.returncode == 2
    assert '"odd" does not fit' in unknown.stderr
    assert "odd.pl: key 'contract' is missing" in unknown.stderr  # why it is not known


@contextlib.contextmanager
def take_ports(count: int) -> Iterator[str]:
    """A range of free ports of loopback, at which something listens now."""
    with contextlib.ExitStack() as taken:
        while True:
            try:
                first = taken.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
                for port in range(first + 1, first + count):
                    taken.enter_context(socket.create_server(("127.0.0.1", port)))
            except (OSError, OverflowError):  # the next one is taken, or there is none
                taken.close()
            else:
                break
        yield f"{first}-{first + count - 1}"


def test_the_servers_port_is_one_of_its_hosts_range(folder: Path) -> None:
    """Where all of them are taken, the trial fails and names them."""
    with take_ports(2) as ports:
        assert run_birds(folder, ["parrot"], to="far", ports=ports, retries="0").returncode == 4
    with pathlab.open(folder / "out") as results:
        (record,) = results.records()
    assert record.failed_stage == "adapter"
    assert f"parrot: port: each of the ports {ports} of 127.0.0.1" in str(record.failure)
    shutil.rmtree(folder / "out")
    assert run_birds(folder, ["parrot"], to="far", ports=ports).returncode == 0


def test_the_shipped_campaign_measures_transports_and_technologies(tmp_path: Path) -> None:
    require_engine()
    require(shutil.which("perl"), "perl (apt-get install perl-base)")
    overrides = (
        *(
            "cycles=1",
            "trial.duration=200ms",
            "trial.warmup=50ms",
            "trial.interval=50ms",
            "probes.unloaded=1",
        ),
        *("factors.message=64B", 'factors.transport=["tcp", "shared-memory"]', 'factors.cpus_receiver="1"'),
        'factors.engine=["native", "tcp-python", "tcp-pipe"]',
    )
    campaign = load_campaign("round-trip", overrides)
    outcome = run_campaign(CampaignSource(campaign=campaign, text=""), tmp_path / "out", Watch())
    assert (outcome.complete, outcome.failed, outcome.left_out) == (outcome.rows, 0, 0)
    with pathlab.open(tmp_path / "out") as results:
        engines = {row.row: row.settings["engine"] for row in results.plan()}
        by_engine = {engines[record.plan_row]: record for record in results.records()}
        lines = {line["name"]: line for line in results.series_table(1, "settings").to_pylist()}
        assert "cpus_receiver" in lines
        kinds = {engines[record.plan_row]: results.series_kinds(number)
                 for number, record in results.records_by_id().items()}  # fmt: skip
    assert all("round_trips" in own for own in kinds.values())
    assert by_engine["native"].adapter_versions is None
    assert by_engine["native"].throughput_bits_per_s
    for name in ("tcp-python", "tcp-pipe"):
        record = by_engine[name]
        assert record.adapter_versions
        assert record.round_trips
        assert record.messages_missing == 0
        assert record.round_trip_min_ns
        assert record.throughput_bits_per_s is None
        assert record.sender_cpu_ns_per_message
        assert record.receiver_cpu_ns_per_message is not None
    assert by_engine["tcp-pipe"].adapter_hop_ns
    assert by_engine["tcp-python"].adapter_hop_ns is None
