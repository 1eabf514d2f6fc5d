"""What `pathlab doctor` says of this machine, which runs the suite and so has what measuring needs."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from pathlab.runner.hosts.controller_check import examine
from tests.command_line import call

pytestmark = pytest.mark.engine


def test_every_check_has_a_state_and_what_is_limited_says_how_to_fix_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = call(["doctor", "--json"], capsys)
    assert said.status == 0
    checks = [json.loads(line) for line in said.out.splitlines()]
    items = [check["item"] for check in checks]
    assert len(items) == len(set(items))  # what is tried here is not read from the agent's facts once more
    assert {"PathLab", "engine", "reached", "windows", "congestion control", "lab", "disk"} <= set(items)
    # Captures, which an ordinary user cannot make, are optional.
    assert {check["state"] for check in checks} <= {"ok", "limited", "optional"}
    assert all(check["found"] for check in checks)


def test_as_a_host_this_machine_is_checked_alike(capsys: pytest.CaptureFixture[str]) -> None:
    doctor, hosts = (
        [json.loads(line) for line in call(words, capsys).out.splitlines()]
        for words in (["doctor", "--json"], ["hosts", "check", "local", "--json"])
    )
    alike = [check["item"] for check in hosts]
    assert {"processors", "loopback probes", "windows", "clock"} <= set(alike)
    assert [check["item"] for check in doctor if check["item"] in alike] == alike
    steady = {"windows", "congestion control", "engine", "clock", "loopback probes"}
    found = [{one["item"]: one["found"] for one in some if one["item"] in steady} for some in (doctor, hosts)]
    assert found[0] == found[1]
    (processors,) = (check["found"] for check in hosts if check["item"] == "processors")
    assert " in use" in processors


def test_a_missing_engine_fails_with_its_fix(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATHLAB_ENGINE", "/nowhere/pathlab-engine")
    said = call(["doctor"], capsys)
    lines = said.out.splitlines()
    assert said.status == 3
    (failed,) = [number for number, line in enumerate(lines) if line.strip().startswith("FAILS  engine")]
    assert "'/nowhere/pathlab-engine' is not an executable file (named in $PATHLAB_ENGINE)" in lines[failed]
    assert lines[failed + 1].strip() == "fix: correct or unset PATHLAB_ENGINE"
    assert lines[-1] == "Missing: engine."


def test_without_the_extra_reports_are_no_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathlab.runner.hosts.controller_check.LIBRARIES", ())

    def refuse(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", refuse)
    check = next(check for check in examine() if check.item == "PDF")
    assert (check.state, check.fix) == ("limited", "pip install 'pathlab[pdf]'")
