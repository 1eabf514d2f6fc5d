"""The recipe for the CI of others, with iperf3 as the program of which two builds are compared."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.builders.foreign_files import pause_iperf3
from tests.campaigns.comparing import ROOT, SHORT, prepare_folder, run_script
from tests.require import require

IPERF3 = 'iperf3 -c "$PATHLAB_PEER" -p "$PATHLAB_PORT" -n 400K --json'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare_folder(tmp_path)
    return tmp_path


@pytest.mark.netns
@pytest.mark.engine
def test_equal_builds_are_not_worse_by_what_the_program_prints(folder: Path) -> None:
    server = ("--server", 'exec iperf3 -s -p "$PATHLAB_PORT"')
    # iperf3 writes its start in whole seconds, in which two of these transfers can start.
    command = f'echo "$PATHLAB_BUILD" >>order && {IPERF3}'
    done = run_script(folder, "--base", command, "--head", command, "--json", *server, *SHORT)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (folder / "builds/summary.md").read_text()
    assert "1 row: 1 equivalent" in text or "1 row: 1 undecided" in text  # by how busy this machine is
    order = (folder / "order").read_text().split()
    assert len(order) == 12
    assert all(set(order[at : at + 2]) == {"base", "head"} for at in range(0, 12, 2))  # cycle by cycle
    assert len({order[at] for at in range(0, 12, 2)}) == 2  # and either of them first


@pytest.mark.netns
@pytest.mark.engine
def test_transfers_during_which_the_program_did_not_run_are_not_measurable(folder: Path) -> None:
    node = pause_iperf3(1.5, reported=True)
    node["start"]["timestamp"]["timesecs"] = 1_700_424_242
    (folder / "stalled.json").write_text(json.dumps(node))
    numbered = 'echo >>order; sed "s/1700424242/17004$(printf %05d $(wc -l <order))/" stalled.json'
    command = f'ping -c 1 "$PATHLAB_PEER" >ping.log; {numbered}'
    done = run_script(folder, "--base", command, "--head", command, "--json", *SHORT)
    assert done.returncode == 7, done.stdout + done.stderr
    line, fix = done.stderr.splitlines()
    assert "has no trial to compare; excluded: 6 host-stalled" in line
    assert "--all" in fix


@pytest.mark.parametrize(
    ("head", "size", "reason"),
    [
        ("echo no route >&2; exit 7", "1M", "the command of the head ended with status 7 in cycle 1"),
        ("true", "1M", "the head is to carry 1M, and the link carried 0 bytes"),
    ],
)
@pytest.mark.netns
@pytest.mark.engine
def test_a_transfer_that_fails_ends_the_comparison(folder: Path, head: str, size: str, reason: str) -> None:
    done = run_script(folder, "--base", head, "--head", head, "--bytes", size, *SHORT)
    assert done.returncode == 4
    *said, line, fix = done.stderr.splitlines()
    assert re.sub("base", "head", line) == f"compare-builds: {reason}"
    assert fix.startswith("  fix: ")
    assert said == (["no route"] if "7" in head else [])


@pytest.mark.netns
@pytest.mark.engine
def test_a_server_that_fails_is_named_with_what_it_said(folder: Path) -> None:
    server = ("--server", "echo port taken >&2; exit 1")
    done = run_script(folder, "--base", "true", "--head", "true", "--bytes", "1M", *server, *SHORT)
    assert done.returncode == 3
    said, line, fix = done.stderr.splitlines()
    assert (said, line) == ("port taken", "compare-builds: the server does not listen on port 5201")
    assert re.fullmatch(r"  fix: see builds/files/(base|head)-001\.log", fix)


def test_without_pathlab_the_script_says_so(tmp_path: Path) -> None:
    words = ("--base", "a", "--head", "b", "--json")
    done = run_script(tmp_path, *words, environment={"PATH": "/usr/bin:/bin"})
    require(not Path("/usr/bin/pathlab").exists(), "a system without pathlab")
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == "compare-builds: no 'pathlab' here"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--base", "a"), "--base and --head are needed"),
        (("--base", "a", "--head", "b"), "the throughput is not known"),
        (("--base", "a", "--head", "b", "--json", "--bytes", "1M"), "the throughput is not known"),
        (("--base", "a", "--head", "b", "--bytes", "many"), "'many' is no size"),
        (("--base", "a", "--head", "b", "--json", "--server", "c"), "--server needs --port"),
        (("--base", "a", "--head", "b", "--json", "--cycles", "5"), "--cycles 5 is too few"),
        (("--base", "a", "--head", "b", "--json", "--cycles", "six"), "are whole numbers"),
        (("--base", "a", "--head", "b", "--json", "--margin", "5"), "--margin '5' is no share"),
        (("--base", "a", "--head", "b", "--json", "--fail-on", "better"), "--fail-on 'better' is unknown"),
        (("--base", "a", "--head", "b", "--json", "--out", "."), "'.' exists"),
        (("--fast",), "'--fast' is no option"),
        (("--base",), "--base needs a value"),
    ],
)
def test_wrong_usage_is_named_with_the_fix(tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    done = run_script(tmp_path, *words)
    assert done.returncode == 2
    line, fix = done.stderr.splitlines()
    assert line.startswith("compare-builds: ")
    assert reason in line
    assert fix.startswith("  fix: ")
    assert list(tmp_path.iterdir()) == []


def test_the_action_passes_every_input_to_the_script(tmp_path: Path) -> None:
    """As a runner does it: inputs by the environment, the step's text by bash."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    inputs = {name: f"{name} given" for name in action["inputs"]}
    called = tmp_path / "action" / "compare-builds"
    called.parent.mkdir()
    called.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    called.chmod(0o755)
    step = action["runs"]["steps"][-1]
    values = {f"inputs.{name}": text for name, text in inputs.items()} | {"github.action_path": str(tmp_path)}
    given = {name: values[re.sub(r"\$\{\{ (.*) \}\}", r"\1", text)] for name, text in step["env"].items()}
    for one in action["runs"]["steps"]:
        assert "${{" not in one["run"]  # an input is never a part of a script
        subprocess.run(["bash", "-n", "-c", one["run"]], check=True)

    def run_step(environment: Mapping[str, str]) -> list[str]:
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, env={**os.environ, **environment}, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    words = run_step(given)
    assert dict(zip(words[::2], words[1::2], strict=True)) == {
        f"--{name}": text for name, text in inputs.items()
    }
    words = run_step({**given, "BYTES": ""})
    assert "--json" in words
    assert "--bytes" not in words
