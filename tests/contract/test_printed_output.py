"""What commands print at 60, 80 and 120 columns and into a pipe: no line too wide, no number cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.command_line import call
from tests.integration.test_report_commands import store
from tests.unit.synthetic_results import make_failed, make_quickstart

#: Each prints tables; RESULTS stands for a folder of results, ROOT for the folder that holds it.
COMMANDS = (
    "analyze RESULTS",
    "compare RESULTS RESULTS --metric throughput --metric drtt --metric loss",
    "campaigns list",
    "lab list",
    "lab show bufferbloat",
    "lab show lossy",
    "lab show three-hops",
    "plan quickstart",
    "plan wan --rows 5",
    "reference show ibm-streams-2.0-facade-intranode",
    "reference show ibm-streams-2.0-fan-out-intranode",
    "results list ROOT",
    "results show RESULTS",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = make_quickstart(cycles=2)
    results.records[3] = make_failed(results.records[3], reason="the receiver refused the connection")
    found = tmp_path_factory.mktemp("printed")
    store(results, found / "a-folder-of-results")
    return found


def run(
    command: str,
    root: Path,
    columns: int | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """The lines of a command that must succeed; ``columns`` None: as into a pipe."""
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(root)  # short names of folders: a name is never cut, so a long one is a long line
    words = [{"RESULTS": "a-folder-of-results", "ROOT": "."}.get(word, word) for word in command.split()]
    said = call(words, capsys)
    assert (said.status, said.err) == (0, "")
    return said.out.splitlines()


def find_numbers(lines: list[str]) -> set[str]:
    """Every word with a digit, but for the words that say which columns are left out."""
    shown = re.sub(r"Not shown in \d+ columns: .*?\)\.", "", "\n".join(lines), flags=re.DOTALL)
    words = {word.strip(".,:;()") for word in shown.split()}
    return {word for word in words if any(letter.isdigit() for letter in word)}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_line_is_too_wide_and_no_number_is_cut(
    command: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped = run(command, root, None, monkeypatch, capsys)
    assert not any(line.startswith("Not shown in ") for line in piped)
    known = find_numbers(piped)
    assert known
    for columns in (60, 80, 120):
        lines = run(command, root, columns, monkeypatch, capsys)
        assert [line for line in lines if cell_len(line) > columns] == []
        assert "…" not in "".join(lines)
        assert find_numbers(lines) <= known
