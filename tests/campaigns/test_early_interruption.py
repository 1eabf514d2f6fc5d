"""A signal before the first trial ends a run like one during a trial: recorded, named, to be continued."""

import signal
from pathlib import Path

import pytest

from tests.command_line import call
from tests.integration.conducting import journal, stored
from tests.integration.running import write_campaign
from tests.require import require_engine

pytestmark = [pytest.mark.engine]
#: What goes on before the first trial: the look at busy hosts, which may last minutes, and the calibration.
STEPS = (
    "pathlab.runner.campaign.idle_wait.measure_activity",
    "pathlab.runner.hosts.environment.Environment.calibrate",
)
CASES = [(STEPS[0], signal.SIGINT, "Ctrl-C"), (STEPS[1], signal.SIGTERM, "SIGTERM")]


def interrupt_at(step: str, number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, lambda *_given: signal.raise_signal(number))


@pytest.mark.parametrize(("step", "number", "name"), CASES)
def test_a_run_that_is_interrupted_before_its_first_trial_says_so_and_goes_on(
    step: str,
    number: signal.Signals,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    require_engine()
    campaign, folder = write_campaign(tmp_path, lab=False, cycles=1, duration="100ms"), tmp_path / "out"
    words = ["run", str(campaign), "--out", str(folder)]
    with monkeypatch.context() as patched:
        interrupt_at(step, number, patched)
        said = call(words, capsys)
    assert said.status == 4
    saved = f"stopped by {name} after 0 of 1 trials; everything measured is saved in {folder}"
    assert saved in said.err.replace("\n", " ")
    assert (folder / "report.html").exists()
    (begun, _), ended = journal(folder)
    assert (begun, ended) == ("started", ("ended", f"stopped by {name}"))
    monkeypatch.setattr(STEPS[1], lambda *_given: None)
    assert call([*words, "--quiet"], capsys).status in (0, 7)  # 7: no usable trial, on a busy machine
    assert {record.status for record in stored(folder)} == {"complete"}
    kinds = [kind for kind, _ in journal(folder) if kind not in ("busy", "retry")]  # as a busy machine gives
    assert kinds == ["started", "ended", "resumed", "finished"]


def test_a_measurement_that_is_interrupted_before_its_trial_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_engine()
    interrupt_at(STEPS[0], signal.SIGINT, monkeypatch)
    said = call(["measure", "local", "--wait-idle", "2m"], capsys)
    assert said.status == 4
    assert "stopped by Ctrl-C before the trial began" in said.err
