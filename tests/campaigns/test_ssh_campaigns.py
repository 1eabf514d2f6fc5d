"""Whole commands and campaigns with hosts over SSH."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.campaign.model import Campaign
from pathlab.runner.campaign.run import CampaignSource, RunOutcome, run_campaign
from pathlab.runner.events import Event, RateNow, TrialEnded
from pathlab.runner.trial import background
from pathlab.store.flags import Flag
from pathlab.store.results import Results
from tests.integration.processes import parent_of
from tests.patience import PATIENCE_S
from tests.ssh.campaigns import campaign_of
from tests.ssh.lab import BASE, PORT, SshLab
from tests.ssh.reach import Reach

pytestmark = pytest.mark.netns


def run_in(reach: Reach, campaign: Campaign, folder: Path, emit: Callable[[Event], None]) -> RunOutcome:
    return run_campaign(CampaignSource(campaign=campaign, text="", access=reach.access()), folder, emit)


def test_loads_run_on_both_hosts_over_ssh(
    reach: Reach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "ALONE_NS", 100_000_000)
    monkeypatch.setattr(background, "RATE_TIMEOUT_S", PATIENCE_S)  # a load gives way to whatever else runs
    campaign = campaign_of(
        reach.lab,
        cycles=1,
        order="given",
        factors={"streams": 1, "background": ["none", "cpu", "disk"]},
        background={"on": "both", "cpu_threads": 1, "disk_bytes": "1MiB"},
    )
    outcome = run_in(reach, campaign, tmp_path / "out", lambda _event: None)
    with Results.open(tmp_path / "out") as results:
        none, cpu, disk = sorted(results.records(), key=lambda record: record.plan_row)
        alone = [entry.text for entry in results.journal() if entry.kind == "background"]
    assert outcome.complete == 3
    assert none.background_cpu_ratio is cpu.background_disk_bytes_per_s is None
    assert cpu.background_cpu_ratio is not None
    assert disk.background_disk_bytes_per_s is not None
    assert [text.partition(", alone: ")[0] for text in alone] == [
        "background load 'cpu' from a to b",
        "background load 'disk' from a to b",
    ]


def test_technologies_are_measured_between_two_hosts(reach: Reach, tmp_path: Path) -> None:
    """The server at b, on a port of b's range; programs and pipes are those of the account there."""
    lab = reach.lab
    reached = {"user": "sh", "port": PORT, "key": str(lab.key), "port_range": "21880-21889"}
    campaign = campaign_of(
        lab,
        cycles=1,
        hosts={name: {"address": lab.address(name), **reached} for name in ("a", "b")},
        # On a path of known rate, records come while the trial runs.
        paths=[{"source": "a", "destination": "b", "capacity": "10Gbit/s"}],
        factors={
            **{"streams": 2, "message": "1400B", "reply": True, "no_delay": True},
            "engine": ["tcp-python", "tcp-pipe"],
        },
        trial={"warmup": "100ms", "duration": "500ms"},
        probes={"unloaded": 1},
    )
    heard: set[int] = set()

    def look_once(event: Event) -> None:
        if isinstance(event, RateNow) and not heard:
            heard.update(list_ports(lab))

    outcome = run_in(reach, campaign, tmp_path / "results", look_once)
    with Results.open(tmp_path / "results") as results:
        # On a busy machine a trial is measured again whose prober did not run.
        kept = {
            number: record
            for number, record in results.records_by_id().items()
            if Flag.HOST_STALLED not in record.flags
        }
        kinds = [set(results.series_kinds(number)) for number in kept]
    records = list(kept.values())
    assert (outcome.complete, outcome.left_out) == (2, 0), [record.failure for record in records]
    assert heard
    for record, own in zip(records, kinds, strict=True):
        assert (record.source_address, record.destination_address) == (lab.address("a"), lab.address("b"))
        assert record.round_trips
        assert record.messages_missing == 0
        assert record.adapter_versions
        assert record.server_start_ns
        assert record.loaded_sent
        assert {"round_trips", "sender_cpu", "receiver_cpu"} <= own
    assert not list_ports(lab)  # nothing listens any more


def list_ports(lab: SshLab) -> set[int]:
    """The ports of the range at which something listens on b."""
    lines = lab.run("b", "ss", "--listening", "--tcp", "--numeric", "--no-header").splitlines()
    return {port for line in lines if 21880 <= (port := int(line.split()[3].rpartition(":")[2])) <= 21889}


def test_a_lost_connection_is_made_anew_in_mid_campaign(reach: Reach, tmp_path: Path) -> None:
    lab, campaign = reach.lab, campaign_of(reach.lab, cycles=2, retries=1)
    killed: list[int] = []

    def cut_once(event: Event) -> None:
        if isinstance(event, TrialEnded) and not killed:
            killed.extend(parent_of(agent) for agent in lab.processes("--engine"))
            for number in killed:
                os.kill(number, signal.SIGKILL)

    outcome = run_in(reach, campaign, tmp_path / "results", cut_once)
    assert len(killed) == 2
    assert outcome.complete == outcome.rows == 2


def user_home(lab: SshLab, *, more: str = "") -> list[str]:
    """Settings for a command in the controller's node whose user has a configuration of SSH."""
    home = lab.folder / "controller-home"
    (home / ".ssh").mkdir(parents=True, exist_ok=True)
    (home / ".ssh" / "known_hosts").write_text(lab.known_hosts())
    (home / ".ssh" / "config").write_text(
        f"Host {lab.address('a')} {lab.address('b')} far\n  Port {PORT}\n  User bash\n"
        f"  IdentityFile {BASE / lab.key.name}\n{more}"
    )
    engine = Path(os.environ["PATHLAB_ENGINE"]).absolute()
    return [f"HOME={BASE}/controller-home", f"PATHLAB_ENGINE={engine}", "COLUMNS=200"]


def test_hosts_check_reports_what_works_and_which_port_is_shut(reach: Reach) -> None:
    """Also that ~/.ssh/config of the command's user counts: b is reached through a ProxyCommand."""
    lab = reach.lab
    hidden = "203.0.113.9"  # an address of b that no route leads to
    lab.run("b", "ip", "address", "add", f"{hidden}/32", "dev", "lo")
    (lab.folder / "relay.py").write_text(RELAY)
    more = f"Host far\n  HostName {lab.address('b')}\n  ProxyCommand python3 {BASE}/relay.py %h %p\n"
    (lab.folder / "hosts.toml").write_text(
        f'[hosts.a]\naddress = "{lab.address("a")}"\n[hosts.b]\naddress = "far"\n'
        f'measure_addresses = ["{hidden}"]\nport_range = "5301-5302"\n'
    )
    words = ["-m", "pathlab", "hosts", "check", "--hosts", str(BASE / "hosts.toml"), "--json"]
    with lab.spawn_program(*words, more=user_home(lab, more=more)) as program:
        text = program.read_rest()
        assert program.process.wait(PATIENCE_S) == 3, text
    assert (lab.folder / "relayed").read_text() == f"{lab.address('b')} {PORT}"
    lines = [json.loads(line) for line in text.splitlines()]
    for host in ("a", "b"):
        found = {line["item"]: line for line in lines if line.get("host") == host}
        assert {"reached", "interpreter", "engine", "windows", "congestion control", "clock"} <= set(found)
        assert found["reached"]["state"] == "ok"
    pairs = {(line["source"], line["destination"]): line for line in lines if line.get("item") == "data port"}
    shut = pairs[("a", "b")]
    assert shut["state"] == "missing"
    assert "port 5301 of b cannot be reached" in shut["found"]
    assert "5301-5302" in shut["fix"]


@pytest.mark.long
def test_measure_takes_hosts_as_ssh_does(reach: Reach) -> None:
    lab = reach.lab
    words = ["-m", "pathlab", "measure", f"bash@{lab.address('a')}", f"fish@{lab.address('b')}", "--json"]
    settings = ["--time", "300ms", "--warmup", "100ms", "--unloaded", "2"]
    with lab.spawn_program(*words, *settings, more=user_home(lab)) as program:
        text = program.read_rest()
        assert program.process.wait(PATIENCE_S) == 0, text


@pytest.mark.long
def test_a_path_is_found_in_both_directions_between_hosts_given_as_for_ssh(reach: Reach) -> None:
    lab = reach.lab
    words = ["-m", "pathlab", "path", f"bash@{lab.address('a')}", f"fish@{lab.address('b')}", "--both"]
    settings = ["--json", "--no-capacity", "--method", "udp", "--flows", "2"]
    with lab.spawn_program(*words, *settings, more=user_home(lab)) as program:
        text = program.read_rest()
        assert program.process.wait(PATIENCE_S) == 0, text
    there = json.loads(text)
    back = there["back"]
    assert (there["address"], back["address"]) == (lab.address("b"), there["routes"][0]["local_address"])
    assert there["routes"][0]["reached"]
    assert back["routes"][0]["reached"]
    assert back["routes"][0]["local_address"] == there["address"]


RELAY = f"""
import os, select, socket, sys
open("{BASE}/relayed", "w").write(" ".join(sys.argv[1:]))
far = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    for ready in select.select([0, far], [], [])[0]:
        data = os.read(0, 65536) if ready == 0 else far.recv(65536)
        if not data:
            sys.exit(0)
        far.sendall(data) if ready == 0 else os.write(1, data)
"""
