"""What `pathlab doctor` says of this machine, which runs the suite and so has what measuring needs."""

import json
import sys
from importlib import metadata

import pytest

from pathlab.runner.hosts.controller_check import examine
from tests.command_line import call

pytestmark = pytest.mark.engine


def test_every_check_has_a_state_and_this_machine_is_checked_alike_as_a_host(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = [call(words, capsys) for words in (["doctor", "--json"], ["hosts", "check", "local", "--json"])]
    assert said[0].status == 0
    doctor, hosts = ([json.loads(line) for line in one.out.splitlines()] for one in said)
    items = [check["item"] for check in doctor]
    assert len(items) == len(set(items))  # what is tried here is not read from the agent's facts once more
    assert {"PathLab", "engine", "reached", "windows", "congestion control", "lab", "disk"} <= set(items)
    # Captures, which an ordinary user cannot make, are optional.
    assert {check["state"] for check in doctor} <= {"ok", "limited", "optional"}
    assert all(check["found"] for check in doctor)
    alike = [check["item"] for check in hosts]
    assert {"processors", "loopback probes", "windows", "clock"} <= set(alike)
    assert [item for item in items if item in alike] == alike
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
    assert "'/nowhere/pathlab-engine'" in lines[failed]
    assert lines[failed + 1].strip().startswith("fix: ")
    assert "PATHLAB_ENGINE" in lines[failed + 1]
    assert lines[-1].endswith("engine.")


def test_without_the_extra_reports_are_no_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pathlab.runner.hosts.controller_check.LIBRARIES", ())

    def refuse(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", refuse)
    check = next(check for check in examine() if check.item == "PDF")
    assert (check.state, check.fix) == ("limited", f"{sys.executable} -m pip install weasyprint")
