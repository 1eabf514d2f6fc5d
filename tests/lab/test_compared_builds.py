"""The recipe for the CI of others finds a build that is slower, by the time that its transfers take."""

from pathlib import Path

import pytest

import pathlab
from tests.campaigns.comparing import SHORT, prepare_folder, run_script
from tests.require import require_engine

pytestmark = [pytest.mark.engine, pytest.mark.netns]


def test_a_slower_head_is_worse(tmp_path: Path) -> None:
    """By the time of a fixed amount; PathLab's engine ends when its peer has confirmed every byte."""
    prepare_folder(tmp_path)
    summary = tmp_path / "step-summary"
    send = f'{require_engine()} send "$PATHLAB_PEER" --port "$PATHLAB_PORT" --bytes 400kB'
    done = run_script(
        tmp_path,
        *("--base", send, "--head", f"{send} --rate 4Mbit/s", "--bytes", "400kB", *SHORT),
        *("--server", f'exec {require_engine()} receive --port "$PATHLAB_PORT"'),
        environment={"GITHUB_STEP_SUMMARY": str(summary)},
    )
    assert done.returncode == 6, done.stdout + done.stderr
    text = summary.read_text()
    assert text == (tmp_path / "builds/summary.md").read_text()
    assert "1 row: 1 worse" in text
    assert "![" not in text
    with pathlab.open(tmp_path / "builds/head") as head, pathlab.open(tmp_path / "builds/base") as base:
        trials = [results.trials(status="complete") for results in (base, head)]
    assert [len(side) for side in trials] == [6, 6]
    assert {*trials[0]["path_source"]} == {"a"}
    faster, slower = (side["throughput_bits_per_s"].median() for side in trials)
    assert slower < faster / 2
