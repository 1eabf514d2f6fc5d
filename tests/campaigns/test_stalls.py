"""Programs that stand still in mid-trial, and a path that does: only the first are no measurement."""

import contextlib
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pathlab
from pathlab.agents.listeners import list_descendants
from pathlab.runner.events import Event, RateNow, RttNow, TrialStarted
from tests.integration.conducting import AB, LAB, Watch, campaign_of, journal, run, stored
from tests.integration.processes import find_engines
from tests.require import require_engine, require_namespaces

pytestmark = pytest.mark.engine

TRIAL = {"warmup": "200ms", "duration": "3s", "interval": "50ms", "drain": "10s"}
PROBES = {"interval": "20ms", "unloaded": 2}
#: A time within the steady window, with traffic.
STEADY_NS = 400_000_000


class Pauser:
    """Stops the programs of a subcommand once a trial's bytes arrive; ``count`` events later they go on.

    Counted are events of a part of the trial that goes on meanwhile: probes while an end stands still, rates
    while the prober or the path does.
    """

    def __init__(
        self,
        choose: Callable[[TrialStarted], str | None],
        counted: type[Event],
        count: int,
        find: Callable[[str], list[int]] = find_engines,
    ) -> None:
        self._choose, self._counted, self._count, self._find = choose, counted, count, find
        self._victim: str | None = None
        self._left = 0
        self._stopped: list[int] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, TrialStarted):
            self._victim = self._choose(event)
        elif self._stopped and isinstance(event, self._counted):
            self._left -= 1
            if self._left == 0:
                self._send(signal.SIGCONT)
                self._stopped = []
        elif (
            self._victim and isinstance(event, RateNow) and event.bits_per_s and event.elapsed_ns > STEADY_NS
        ):
            self._stopped, self._left, self._victim = self._find(self._victim), self._count, None
            self._send(signal.SIGSTOP)

    def _send(self, number: signal.Signals) -> None:
        for pid in self._stopped:
            os.kill(pid, number)


FLOWS: dict[str, dict[str, list[Any]]] = {
    "tcp": {"transport": ["tcp"], "pacing": ["5Mbit/s"]},
    "udp": {"transport": ["udp"], "pacing": ["5Mbit/s"]},
    "tcp back": {"transport": ["tcp"], "pacing": ["5Mbit/s"], "direction": ["reverse"]},
    "udp back": {"transport": ["udp"], "pacing": ["5Mbit/s"], "direction": ["reverse"]},
    "messages": {"message": ["1KiB"], "reply": [True], "message_rate": [200]},
}


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("victim", ["send", "receive", "ping"])
def test_a_trial_whose_program_is_stopped_is_flagged_and_measured_again(
    tmp_path: Path, flow: str, victim: str
) -> None:
    require_engine()
    counted: tuple[type[Event], int] = (RateNow, 10) if victim == "ping" else (RttNow, 40)
    pauser = Pauser(lambda event: victim if event.attempt == 1 else None, *counted)
    campaign = campaign_of(factors={"streams": [1], **FLOWS[flow]}, trial=TRIAL, probes=PROBES, retries=1)
    outcome = run(campaign, tmp_path / "out", Watch(pauser))
    assert (outcome.complete, outcome.failed, outcome.missing) == (1, 0, 0)
    first, *again = stored(tmp_path / "out")
    assert (first.attempt, first.status) == (1, "complete")
    assert "host-stalled" in first.flags
    assert [record.attempt for record in again] == [2]
    ends = ("the sender", "the receiver")[:: -1 if "back" in flow else 1]  # who connects receives then
    program = dict(zip(("send", "receive", "ping"), (*ends, "the prober"), strict=True))[victim]
    (text,) = [text for kind, text in journal(tmp_path / "out") if kind == "retry"]
    assert text.startswith(f"in trial 1 {program} did not run for ")
    assert text.endswith("; it is measured again at the end of the cycle")


def find_part(role: str) -> list[int]:
    """The program of tcp-python in this role; the process that watches it has no such word."""
    found = []
    for pid in list_descendants(os.getpid())[1:]:
        with contextlib.suppress(OSError):  # one that has ended meanwhile
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if role.encode() in words:
                found.append(pid)
    return found


@pytest.mark.parametrize("role", ["answer", "ask"])
def test_a_technology_whose_program_is_stopped_is_seen_by_the_agent(tmp_path: Path, role: str) -> None:
    """For less than the second after which a lost request ends the trial: no end can state it."""
    require_engine()
    pauser = Pauser(lambda event: role if event.attempt == 1 else None, RttNow, 25, find_part)
    factors = {"engine": ["tcp-python"], "message": ["64B"], "reply": [True], "no_delay": [True]}
    local = {"placement": ["process"], "streams": [1], "message_rate": [200]}
    campaign = campaign_of(factors=factors | local, trial=TRIAL, probes=PROBES, retries=1)
    run(campaign, tmp_path / "out", Watch(pauser))
    first, *again = stored(tmp_path / "out")
    assert (first.status, [record.attempt for record in again]) == ("complete", [2])
    assert "host-stalled" in first.flags


@pytest.mark.netns
@pytest.mark.parametrize("flow", ["tcp", "udp"])
def test_an_outage_of_the_path_is_no_stopped_program(tmp_path: Path, flow: str) -> None:
    """Nothing passes the link for a second, and the loaded probes wait as well."""
    require_engine()
    require_namespaces()
    pauser = Pauser(lambda _event: "emulate", RateNow, 20)
    factors = {"streams": [1], **FLOWS[flow]}
    campaign = campaign_of(lab=LAB, paths=AB, factors=factors, trial=TRIAL, probes=PROBES, retries=1)
    run(campaign, tmp_path / "out", Watch(pauser))
    assert stored(tmp_path / "out")[0].status == "complete"
    # A busy machine keeps programs from running for some 100 ms, and the outage lasts for a second.
    stalls = [text for kind, text in journal(tmp_path / "out") if kind == "retry"]
    assert all(re.search(r"did not run for [1-4]?\d?\d(\.\d+)? ms", text) for text in stalls), stalls
    with pathlab.open(tmp_path / "out") as results:
        silent = results.series(1, "receiver_intervals")["bytes"] == 0
    assert silent.sum() >= 10  # half of the outage, at least
