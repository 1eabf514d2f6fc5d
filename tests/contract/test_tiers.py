"""Every test is in a tier, and every tier is a target of the Makefile that readers find."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.contract.test_makefile import run_make
from tests.tiers import ROOT, TESTS, TIERS, find_tier, format_tiers, run_tier

#: Markers of pytest and its plugins that say neither which machine nor which tier a test needs.
GENERAL = {"parametrize", "timeout", "usefixtures"}
OWN = {"netns", "engine", "long"}


def test_every_folder_with_tests_is_in_a_tier() -> None:
    folders = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    chosen = Counter(folder for tier in TIERS for folder in tier.folders)
    assert folders - chosen.keys() == set()
    assert {name for name, times in chosen.items() if times > 1} == {"statistics"}


def test_every_tier_is_a_target_and_test_all_runs_each_once(tmp_path: Path) -> None:
    done = run_make(tmp_path, "-n", "test-all")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"-m tests\.tiers (\S+)", done.stdout) == [tier.target for tier in TIERS]


def test_make_test_lists_the_other_tiers(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_tier(find_tier("test"), ["--version"]) == 0
    printed = capfd.readouterr().out
    assert printed.endswith(f"{format_tiers(TIERS[1:])}\n")
    lines = format_tiers(TIERS[1:]).splitlines()
    assert [line.split()[1] for line in lines] == [tier.target for tier in TIERS[1:]]


def test_contributing_names_every_tier() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [tier.target for tier in TIERS if f"`make {tier.target}`" not in text] == []


def test_markers_choose_no_tier() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    markers = settings["tool"]["pytest"]["ini_options"]["markers"]
    assert {line.partition(":")[0] for line in markers} == OWN
    used = {
        name: str(path.relative_to(ROOT))
        for path in TESTS.rglob("*.py")
        for name in re.findall(r"pytest\.mark\.(\w+)", path.read_text(encoding="utf-8"))
    }
    assert {name: path for name, path in used.items() if name not in OWN | GENERAL} == {}
