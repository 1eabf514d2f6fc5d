"""What commands print at 80 columns, on results and on what ships; their help is kept in docs/cli."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command_line import call
from tests.golden.builders import make_failed, make_message_results, make_quickstart, write_results
from tests.golden.conftest import Say

#: ``tcp`` and ``messages`` are folders of results.
COMMANDS = (
    "--help",
    "analyze tcp --only cells --reference ibm-streams-3.0-internode",
    "analyze tcp --only list",
    "campaigns list",
    "campaigns show quickstart",
    "export tcp --format csv --out exported",
    "lab list",
    "lab show bufferbloat",
    "lab show three-hops",
    "plan quickstart --rows 5",
    "plan wan --rows 5",
    "recommend messages",
    "recommend messages --rate 50k --size 64B --p99 100us",
    "recommend messages --rate 150k --size 64B --p99 1us",
    "reference list",
    "reference show ibm-streams-2.0-fan-out-intranode",
    "report tcp --figure list",
    "results check tcp",
    "results list .",
    "results show messages --limit 3",
    "results show tcp",
    "results show tcp --json",
)
#: What a user gets wrong: each time a line names it, and another one says what to do.
MISTAKES = (
    "measur",
    "run",
    "run nowhere",
    "run wrong.toml",
    "plan quickstrat",
    "measure a b c",
    "measure local --streams 0",
    "measure local --streams many",
    "measure local --time soon",
    "measure local --window [red]",
    "completion",
    "completion tcsh",
    "analyze nothing",
    "analyze tcp --only nothing",
    "analyze tcp --column x",
    "analyze tcp --reference nothing",
    "analyze tcp --reference ibm-streams-3.0-internode --column udp",
    "compare tcp",
    "compare tcp nothing",
    "compare tcp tcp --metric nothing",
    "export tcp --format nothing",
    "import wrong.toml",
    "lab show nothing",
    "recommend tcp",
    "recommend messages --rate fast --size 64B --p99 1ms",
    "recommend messages --rate 1k --size 65B --p99 1ms",
    "reference show nothing",
    "report nothing",
    "report tcp --style x.mplstyle",
    "report tcp --figure trial-1 --format pdf",
    "report tcp --figure nothing --out x.svg",
    "report tcp --format md --out x.pdf",
    "report tcp --format docx",
    "results check nothing",
    "results show tcp --limit few",
    "view tcp --x nothing",
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    results = make_quickstart(cycles=2)
    results.records[3] = make_failed(results.records[3], reason="the receiver refused the connection")
    write_results(results, folder / "tcp")
    write_results(make_message_results(sizes=(64,), cycles=6), folder / "messages")
    (folder / "wrong.toml").write_text(
        'format = 1\nname = "wrong"\ntitle = "t"\nseed = 1\ncycels = 2\n'
        '[[paths]]\nsource = "here"\ndestination = "local"\n[factors]\nstreams = [0]\n'
    )
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_pathlab(
    say: Say,
    command: str,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(root)
    printed = call(command.split(), capsys)
    assert printed.err == ""
    say(hide_sizes(printed.out))


@pytest.mark.parametrize("command", MISTAKES)
def test_mistake_in_pathlab(
    say: Say,
    command: str,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(root)
    printed = call(command.split(), capsys)
    assert printed.status in (2, 5)
    say(f"exit status {printed.status}")
    say(printed.err)


def hide_sizes(printed: str) -> str:
    """Without the sizes of files, which depend on the library of the database."""
    return re.sub(
        r'\b[\d.]+ [kM]i?B(?=$|\s+2 trials)|(?<="size_bytes": )\d+', "SIZE", printed, flags=re.MULTILINE
    )
