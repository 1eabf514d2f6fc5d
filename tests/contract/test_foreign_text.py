"""Whatever hosts, files and databases say: no control of theirs reaches a terminal, no formula a spreadsheet.

``tests/builders/hostile.py`` fills every field that others fill; every subcommand that prints
them runs.
"""

import ast
import csv
import json
import os
import pty
import re
import threading
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

import pathlab
from pathlab.cli.console import TerminalConsole
from pathlab.cli.live import LiveView
from pathlab.cli.main import main
from pathlab.escaping import escape_cell, escape_controls, escape_line, escaping_streams
from pathlab.remote.terminal import ask_secret
from pathlab.runner.events import CampaignEnded, CampaignStarted, RunNotice, TrialEnded, Waiting
from pathlab.store.results import Results
from tests.builders.foreign_files import TEXTS, write_sample
from tests.builders.hostile import HOSTILE, HOSTILE_NAME, RAW, fill_hostile
from tests.command_line import call

ROOT = Path(pathlab.__file__).parent
CAMPAIGN = """
format = 1
name = "sample"
seed = 1
title = {title}
# {comment}
[[paths]]
source = "local"
destination = "local"
[factors]
streams = [1, 2]
window = ["64K"]
"""
READING = (
    ["results", "list", "."],
    ["results", "list", ".", "--json"],
    ["results", "show", HOSTILE_NAME],
    ["results", "show", HOSTILE_NAME, "--json"],
    ["results", "check", HOSTILE_NAME],
    ["results", "merge", HOSTILE_NAME, "other", "--out", f"{HOSTILE_NAME}2"],
    ["report", HOSTILE_NAME, "--format", "json"],
    ["report", HOSTILE_NAME, "--figure", "list"],
    ["report", HOSTILE_NAME, "--figure", "trial-1", "--out", f"{HOSTILE_NAME}.svg"],
    ["analyze", HOSTILE_NAME],
    ["analyze", HOSTILE_NAME, "--json"],
    ["compare", HOSTILE_NAME, "other"],
    ["compare", HOSTILE_NAME, "other", "--json"],
    ["compare", HOSTILE_NAME, "other", "--report", "compared.md"],
    ["export", HOSTILE_NAME, "--format", "jsonl", "--out", "lines"],
)
FORMS = ("--format", "md", "--format", "html", "--format", "json")
FAILING = (
    ["results", "show", f"none{HOSTILE}"],
    ["report", HOSTILE_NAME, "--figure", HOSTILE],
    ["report", HOSTILE_NAME, "--out", f"none{HOSTILE}", "--style", HOSTILE],
    ["analyze", HOSTILE_NAME, "--only", HOSTILE],
    ["plan", HOSTILE],
    ["plan", "campaign.toml", "--set", f"{HOSTILE}=1"],
    ["plan", "broken.toml"],
    ["measure", HOSTILE, HOSTILE],
    ["hosts", "check", "--hosts", HOSTILE],
    ["path", HOSTILE, HOSTILE, HOSTILE],
    ["lab", "up", HOSTILE],
    ["import", HOSTILE],
    ["import", f"bad{HOSTILE_NAME}.json"],
    ["reference", "show", HOSTILE],
    ["stop", HOSTILE],
    ["pause", HOSTILE],
    ["resume", HOSTILE],
    [HOSTILE],
    ["run", f"--{HOSTILE}"],
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two results folders, one of a hostile name, and campaign files."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in (HOSTILE_NAME, "other"):
        fill_hostile(folder / name)
    with (
        Results.open(folder / "other", write=True) as results,
        results.writing("another import") as connection,
    ):
        connection.exec_driver_sql("UPDATE origin SET part = part || 'other'")
    title = json.dumps(HOSTILE)
    comment = escape_controls("x") + "\u202e\u200b"  # TOML has no other control in a comment
    (folder / "campaign.toml").write_text(CAMPAIGN.format(title=title, comment=comment), encoding="utf-8")
    (folder / "broken.toml").write_text(f"{json.dumps(HOSTILE)} = 1\nname = 3\n", encoding="utf-8")
    (folder / f"bad{HOSTILE_NAME}.json").write_text('{"start": 1', encoding="utf-8")
    return folder


@pytest.fixture
def folder(stored: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(stored)
    return stored


def name_call(arguments: list[str]) -> str:
    """The words of a command as an id of printable letters."""
    return re.sub(r"[^ -~]", "", " ".join(word[:12] for word in arguments))


@pytest.mark.parametrize("arguments", READING, ids=name_call)
def test_nothing_raw_is_printed(
    folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(arguments, capsys)
    assert said.status == 0
    assert not RAW.search(said.out + said.err)
    assert said.out.strip()
    if "--json" in arguments:
        assert json.loads(said.out)


@pytest.mark.parametrize("arguments", FAILING, ids=name_call)
def test_nothing_raw_is_printed_by_what_fails(
    folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(arguments, capsys)
    assert said.status not in (0, 1)
    assert not RAW.search(said.out + said.err)
    assert said.err.splitlines()[0].startswith("pathlab: ")


@pytest.mark.parametrize("arguments", [["plan", "campaign.toml"], ["campaigns", "show", "campaign.toml"]])
def test_a_campaign_file_is_shown_without_its_controls(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    said = call(arguments, capsys)
    assert (said.status, said.err) == (0, "")
    assert not RAW.search(said.out)
    assert "\\u202e" in said.out
    assert "[red]" in said.out


@pytest.mark.parametrize("program", sorted(TEXTS))
def test_an_imported_file_is_named_without_its_controls(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write_sample(tmp_path, program)
    file = file.rename(file.with_name(f"{HOSTILE_NAME}.json"))
    said = call(["import", str(file), "--source", HOSTILE, "--title", HOSTILE, "--into", "taken"], capsys)
    assert said.status == 0, said.err
    assert not RAW.search(said.out + said.err)
    assert not RAW.search(call(["results", "show", "taken"], capsys).out)


@pytest.fixture(scope="module")
def written(stored: Path) -> Path:
    """A report in three forms, with its figures, and tables of the trials."""
    target = stored / "written"
    source = str(stored / HOSTILE_NAME)
    for words in (
        ["report", source, "--quiet", "--out", str(target / "r"), *FORMS],
        ["export", source, "--format", "csv", "--out", str(target / "cells")],
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
    return target


def test_files_for_people_hold_nothing_raw(written: Path) -> None:
    text = (written / "r.md").read_text(encoding="utf-8")
    assert not RAW.search(text)
    unfenced = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert len(unfenced) < len(text)
    assert not re.search(r"(?<!\\)<script", unfenced)
    page = (written / "r.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    ours = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)  # the library has such letters in it
    assert not RAW.search(ours)
    assert "\\u001b]52" in ours
    document = (written / "r.json").read_text(encoding="utf-8")
    assert not RAW.search(document)
    assert json.loads(document)["title"] == HOSTILE
    for figure in written.rglob("*.svg"):
        assert not RAW.search(figure.read_text(encoding="utf-8"))


def test_no_cell_of_csv_is_a_formula_and_numbers_stay_numbers(written: Path) -> None:
    files = list(written.rglob("*.csv"))
    assert len(files) > 5
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not RAW.search(text)
        for row in csv.reader(text.splitlines(keepends=True)):
            assert not [cell for cell in row if re.match(r"[=@+\t\r]|-(?![\d.])", cell)]
    with (written / "cells" / "trials.csv").open(encoding="utf-8", newline="") as table:
        first = next(csv.DictReader(table))
    assert first["path_source"] == f"'{escape_controls(HOSTILE)}a"
    assert first["streams"] in ("1", "2")
    assert float(first["throughput_bits_per_s"]) > 0


@pytest.mark.parametrize("text", ["=1+1", "@SUM(A1)", "+cmd", "-cmd", "\tx", " =x", "＝x", "-5+cmd"])
def test_a_text_cell_that_begins_a_formula_gets_an_apostrophe(text: str) -> None:
    assert escape_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-5", "-1.5e-3", "+4", "a=b", ""])
def test_a_cell_that_begins_no_formula_stays(text: str) -> None:
    assert escape_cell(text) == text


def test_escapes_are_those_of_json() -> None:
    text = f"{HOSTILE}\U000e0041\ud800\u2028é→𝄞"
    printed = escape_controls(json.dumps(text, ensure_ascii=False))
    assert not RAW.search(printed)
    assert json.loads(printed) == text
    assert escape_controls("a\tb\r\nc") == "a\tb\r\nc"
    assert escape_cell("\rx") == "'\\u000dx"
    assert escape_line("one\nline\r\nmore\x85") == "one line more"


@pytest.fixture
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours as on a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.usefixtures("coloured")
def test_our_colours_survive_and_nobody_elses(capsys: pytest.CaptureFixture[str]) -> None:
    with escaping_streams():
        console = TerminalConsole()
        console.print(Text("ours", style="red"))
        table = Table(title=HOSTILE, caption=HOSTILE)
        table.add_column(HOSTILE)
        table.add_row(HOSTILE)
        table.add_row(Text(HOSTILE))
        console.print(HOSTILE, table, Text.from_ansi("\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\"))
        print(HOSTILE)  # noqa: T201 -- what forgets the console
        Console().print(Text("forgotten", style="red"))
    printed = capsys.readouterr().out
    assert "\x1b[31mours\x1b[0m" in printed
    assert "forgotten" in printed
    assert "\x1b[31mforgotten" not in printed
    assert "[red]x[/none]" in printed
    assert not RAW.search(re.sub(r"\x1b\[[\d;]*m", "", printed))
    assert printed.count("\x1b[31m") == 1
    assert "\x1b]" not in printed


@pytest.mark.usefixtures("coloured")
def test_the_live_view_shows_events_without_their_controls(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = stored / "other"
    with Results.open(other) as results:
        records, settings = results.records(), results.plan()[0].settings
    with escaping_streams(), LiveView(TerminalConsole()) as view:
        view(CampaignStarted(name=HOSTILE, folder=other, rows=9, done=1, estimate_ns=10**9, work_ns=10**9))
        view(RunNotice(text=f"{HOSTILE}\nforged"))
        view(Waiting(until_utc="2026-01-02T03:04:05+00:00", reason=HOSTILE))
        for record in records:
            view(TrialEnded(record=record, settings=settings))
        view(CampaignEnded(reason=HOSTILE, complete=1, rows=9))
    printed = capsys.readouterr().out
    assert "[red]x[/none]" in printed
    assert "\nforged" not in printed
    ours = re.sub(r"\x1b\[\??[\d;]*[A-Za-z]|\r", "", printed)
    assert not RAW.search(ours)


def test_a_question_for_a_secret_holds_no_control() -> None:
    master, slave = pty.openpty()
    printed = b""

    def answer() -> None:
        nonlocal printed
        while b"word" not in printed:
            printed += os.read(master, 4096)
        os.write(master, b"secret\n")

    person = threading.Thread(target=answer)
    person.start()
    try:
        assert ask_secret(f"{HOSTILE}\nPassword: ", os.ttyname(slave)) == "secret"
    finally:
        person.join()
        os.close(master)
        os.close(slave)
    assert printed.decode() == f"{escape_line(HOSTILE)} Password: "
    assert not RAW.search(printed.decode())


def test_a_fault_of_ours_prints_no_control_of_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ValueError(HOSTILE)

    monkeypatch.setattr("pathlab.cli.commands.results.list_results", fail)
    said = call(["results", "list", "."], capsys)
    assert said.status == 1
    assert "ValueError: =cmd()" in said.err
    assert not RAW.search(said.err)


def test_a_name_that_is_not_utf8_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"r\xffs")
    fill_hostile(tmp_path / odd)
    said = call(["results", "check", odd], capsys)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("r\\udcffs: no errors found")


def test_everything_is_printed_where_texts_are_escaped() -> None:
    """Consoles are made in one place, and no text of others is read as markup or as sequences."""
    found = []
    words = "Console|from_markup|from_ansi|markup|__stdout__|__stderr__|unescaped"
    for file in sorted(ROOT.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search(words, text) else ():
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if re.search(r"(^|\.)(Console|from_markup|from_ansi)$", name):
                    found.append(f"{file.relative_to(ROOT)}: {name}")
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                found += [f"{file.relative_to(ROOT)}: {name}" for name in names if name == "rich.markup"]
            if isinstance(node, ast.Attribute) and node.attr in ("__stdout__", "__stderr__", "unescaped"):
                found.append(f"{file.relative_to(ROOT)}: {node.attr}")
    assert found == ["escaping.py: unescaped"] * found.count("escaping.py: unescaped")
