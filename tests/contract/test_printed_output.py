"""What commands print at 60 and 120 columns and into a pipe: no line too wide, no number cut.

A pipe that is closed ends them with the status of SIGPIPE and without a word.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from pathlab.cli.main import main
from pathlab.report.formats.forms import FORMS, Form
from tests.builders.messages import make_message_results
from tests.builders.results import make_quickstart, write_results
from tests.builders.trials import make_failed
from tests.command_line import call

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
    "recommend MESSAGES",
    "recommend MESSAGES --rate 50k --size 64B --p99 100us",
    "report MESSAGES --format md --out x.md",
    "reference show ibm-streams-2.0-facade-intranode",
    "reference show ibm-streams-2.0-fan-out-intranode",
    "results list ROOT",
    "results show MESSAGES",
    "results show RESULTS",
)


#: These print no table, and much.
MORE_COMMANDS = (
    "--help",
    "analyze RESULTS --json",
    "analyze RESULTS --only list",
    "campaigns schema --json",
    "campaigns show quickstart",
    "compare RESULTS RESULTS --json",
    "doctor",
    "lab show three-hops --json",
    "path local --no-capacity",
    "recommend MESSAGES --json",
    "plan quickstart --json",
    "reference list",
    "report RESULTS --figure list",
    "report RESULTS --format md --out x.md",
    "results check RESULTS",
    "results show RESULTS --json",
    "run --help",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = make_quickstart(cycles=2, levels=[(1, 65536), (8, 65536), (8, 262144)])
    results.records[3] = make_failed(results.records[3], reason="the receiver refused the connection")
    found = tmp_path_factory.mktemp("printed")
    write_results(results, found / "a-folder-of-results")
    write_results(make_message_results(sizes=(64,)), found / "messages")
    return found


@pytest.fixture(autouse=True)
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports whose files are not written, and a few of the campaigns: the printed lines are the same."""
    undrawn = {**FORMS, "md": Form(ending=".md", write=lambda _, place: place)}
    monkeypatch.setattr("pathlab.cli.commands.report.FORMS", undrawn)
    names = ("fixed-product", "quickstart", "windows-vs-streams")
    monkeypatch.setattr("pathlab.cli.commands.campaigns.list_shipped", lambda: names)


def list_words(command: str) -> list[str]:
    return [
        {"RESULTS": "a-folder-of-results", "MESSAGES": "messages", "ROOT": "."}.get(word, word)
        for word in command.split()
    ]


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
    said = call(list_words(command), capsys)
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
    for columns in (60, 120):
        lines = run(command, root, columns, monkeypatch, capsys)
        assert [line for line in lines if cell_len(line) > columns] == []
        assert "…" not in "".join(lines)
        assert find_numbers(lines) <= known


def test_stored_trials_of_messages_show_their_rate_and_round_trips(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run("results show MESSAGES --limit 0", root, 120, monkeypatch, capsys)
    headings = [line.split() for line in lines if line.startswith(("Combination", "Trial "))]
    assert [one[-1] for one in headings] == ["Messages", "Status"]
    assert "Messages Round trip p99" in " ".join(headings[1])
    assert "Loaded" not in headings[1]
    missed = [line for line in lines if line.endswith("complete, rate-missed")]
    assert missed
    assert all(re.search(r" 120 k/s +\S+ [µm]s +\S+ [µm]s", line) for line in missed)


#: Of those that print tables, one for each way to make them: the ending does not depend on the table.
TABLES = ("analyze RESULTS", "lab list", "plan wan --rows 5", "results list ROOT", "results show RESULTS")


@pytest.mark.parametrize("command", [*TABLES, *MORE_COMMANDS])
def test_a_closed_pipe_ends_a_command_without_a_word(
    command: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        with pytest.raises(SystemExit) as ended:
            main(list_words(command))
    assert ended.value.code == 141
    assert capsys.readouterr().err == ""


def test_a_process_whose_reader_has_ended_complains_of_nothing() -> None:
    command = [sys.executable, "-m", "pathlab", "campaigns", "schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
