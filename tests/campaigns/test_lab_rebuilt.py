"""A campaign whose lab dies: it is made anew, but not for ever, and nothing measured is lost."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab.lab.lab import Lab
from pathlab.lab.links import EmulatedLink
from pathlab.lab.namespaces import lab_error
from pathlab.lab.verdict import LabVerdict
from pathlab.runner.events import Event, RateNow, TrialEnded, TrialStarted
from tests.integration.conducting import AB, LAB, Watch, campaign_of, journal, run, stored
from tests.patience import PATIENCE_S
from tests.require import require_namespaces

pytestmark = pytest.mark.netns

#: A dead link delivers nothing more: there is no use in waiting for it.
TRIAL = {"warmup": "0ms", "duration": "100ms", "interval": "20ms", "drain": "1s"}
KILLED = "link a-b: the emulator was killed by SIGKILL"


@pytest.fixture
def kill_emulator(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Kills the emulator of the link between a and b in the latest lab, and waits for its end."""
    require_namespaces()
    links: list[EmulatedLink] = []
    start = EmulatedLink.start

    def start_and_keep(link: EmulatedLink) -> None:
        start(link)
        if link._link.between == ("a", "b"):
            links.append(link)

    def kill() -> None:
        process = links[-1]._process
        process.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL

    monkeypatch.setattr(EmulatedLink, "start", start_and_keep)
    return kill


def rows(folder: Path) -> list[tuple[int, str, str | None]]:
    return [(record.plan_row, record.status, record.failed_stage) for record in stored(folder)]


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_lab_that_dies_in_a_trial_is_made_anew_and_the_row_measured_again(
    tmp_path: Path, kill_emulator: Callable[[], None], concurrency: int
) -> None:
    killed: list[Event] = []

    def kill_once(event: Event) -> None:
        if isinstance(event, RateNow) and event.row == 0 and not killed:
            killed.append(event)
            kill_emulator()

    paths = [*AB, {"source": "c", "destination": "d"}]
    factors = {"streams": [1], "duration": ["2s"]}  # the event may come late on a busy machine
    settings = {"trial": TRIAL, "concurrency": concurrency, "factors": factors, "retries": 1}
    campaign = campaign_of(lab=LAB, paths=paths, **settings)
    outcome = run(campaign, tmp_path / "out", Watch(kill_once))
    assert (outcome.complete, outcome.ended) == (2, None)
    assert 1 <= outcome.failed <= concurrency  # a dead link is a fault of every trial under way in its lab
    measured = rows(tmp_path / "out")
    assert (0, "failed", "lab") in measured
    assert {(row, status) for row, status, _ in measured} >= {(0, "complete"), (1, "complete")}
    rebuilt = [text for kind, text in journal(tmp_path / "out") if kind == "lab-rebuilt"]
    assert rebuilt == [f"the lab was rebuilt: lab: {KILLED}"]


def test_a_lab_that_dies_between_two_trials_costs_none(
    tmp_path: Path, kill_emulator: Callable[[], None]
) -> None:
    def kill_after_the_first(event: Event) -> None:
        if isinstance(event, TrialEnded) and event.record.plan_row == 0:
            kill_emulator()

    outcome = run(campaign_of(lab=LAB, paths=AB, cycles=2), tmp_path / "out", Watch(kill_after_the_first))
    assert (outcome.complete, outcome.failed) == (2, 0)
    assert ("lab-rebuilt", f"the lab was rebuilt: {KILLED}") in journal(tmp_path / "out")


def test_lab_limited_trials_are_measured_again_at_the_end_of_their_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overloaded = LabVerdict(
        reasons=("late",),
        outside_packets=0,
        late_p99_ns=10**9,
        emulator_cores=0.1,
        host_busy_ratio=0.1,
        steal_ratio=0.0,
    )
    monkeypatch.setattr("pathlab.runner.hosts.environment.evaluate_lab", lambda *_: overloaded)
    campaign = campaign_of(lab=LAB, paths=AB, cycles=2, lab_retries=1)
    outcome = run(campaign, tmp_path / "out", Watch(lambda _event: None))
    assert (outcome.complete, outcome.failed, outcome.missing) == (2, 0, 0)
    assert rows(tmp_path / "out") == [(0, "complete", None), (0, "complete", None), (1, "complete", None)]
    text = "trial 1 was lab-limited and is measured again at the end of the cycle"
    assert ("retry", text) in journal(tmp_path / "out")


def test_a_lab_that_dies_in_every_trial_ends_the_run(
    tmp_path: Path, kill_emulator: Callable[[], None]
) -> None:
    def kill_always(event: Event) -> None:
        if isinstance(event, TrialStarted):
            kill_emulator()

    outcome = run(campaign_of(lab=LAB, paths=AB, trial=TRIAL, cycles=9), tmp_path / "out", Watch(kill_always))
    assert (outcome.complete, outcome.failed, outcome.missing) == (0, 3, 9)
    assert [stage for _, _, stage in rows(tmp_path / "out")] == ["lab"] * 3
    ((_, text),) = [entry for entry in journal(tmp_path / "out") if entry[0] == "quarantined"]
    assert text.startswith("the lab failed 3 times in a row; the remaining trials are skipped")
    assert KILLED in text


def test_a_lab_that_cannot_be_made_again_ends_the_run_with_its_reason(
    tmp_path: Path, kill_emulator: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill_and_forbid(event: Event) -> None:
        if isinstance(event, TrialStarted) and event.row == 1:
            kill_emulator()
            monkeypatch.setattr(Lab, "start", refuse)

    def refuse(_lab: Lab) -> None:
        raise lab_error("no network namespaces here")

    outcome = run(
        campaign_of(lab=LAB, paths=AB, trial=TRIAL, cycles=3), tmp_path / "out", Watch(kill_and_forbid)
    )
    assert (outcome.complete, outcome.failed, outcome.missing) == (1, 1, 2)
    assert outcome.ended == "the lab cannot be rebuilt: no network namespaces here"
    assert rows(tmp_path / "out") == [(0, "complete", None), (1, "failed", "lab")]


def test_a_lab_that_dies_as_soon_as_it_is_made_ends_the_run(
    tmp_path: Path, kill_emulator: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Lab.start

    def start_and_die(lab: Lab) -> None:
        start(lab)
        kill_emulator()

    def kill_and_go_on_killing(event: Event) -> None:
        if isinstance(event, TrialEnded):
            kill_emulator()
            monkeypatch.setattr(Lab, "start", start_and_die)

    outcome = run(
        campaign_of(lab=LAB, paths=AB, trial=TRIAL, cycles=3), tmp_path / "out", Watch(kill_and_go_on_killing)
    )
    assert (outcome.complete, outcome.missing) == (1, 2)
    assert outcome.ended == f"the lab fails as soon as it is rebuilt: {KILLED}"
