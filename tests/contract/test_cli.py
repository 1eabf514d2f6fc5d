"""The command line as a contract: exit status, stdout and stderr of what needs no measurement."""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import click
import pytest
from click.shell_completion import split_arg_string

from pathlab import __version__
from pathlab.cli import main as main_module
from pathlab.cli.completions import complete_override, list_column_names
from pathlab.cli.names import EXPLORED_COLUMNS, VIEW_KEYS
from pathlab.errors import HostError, Stage
from pathlab.runner.campaign.interruption import Interrupted
from pathlab.runner.campaign.run import CampaignSource
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.view_text import KEYS
from pathlab.study.measures import MEASURES
from tests.builders.results import make_quickstart, write_results
from tests.command_line import call
from tests.require import require_engine

ROOT = Path(__file__).resolve().parents[2]


def run_python(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_version() -> None:
    done = run_python("-m", "pathlab", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"pathlab {__version__}\n", "")


def test_the_engine_is_a_command_of_the_installation() -> None:
    """What the console script ``pathlab-engine`` does."""
    assert '"pathlab-engine=pathlab.cli.engine:run_engine"' in (ROOT / "setup.py").read_text(encoding="utf-8")
    words = ("-c", "from pathlab.cli.engine import run_engine; run_engine()")
    engine = require_engine()
    done = run_python(*words, "--version", PATHLAB_ENGINE=engine)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("pathlab-engine ")
    assert run_python(*words, "nonsense", PATHLAB_ENGINE=engine).returncode == 2
    done = run_python(*words, "--version", PATHLAB_ENGINE="/nope")
    assert (done.returncode, done.stdout) == (3, "")
    line, fix = done.stderr.splitlines()
    assert "'/nope'" in line
    assert fix.startswith("  fix: ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(["completion", shell], capsys)
    assert done.status == 0
    assert "_PATHLAB_COMPLETE" in done.out


@pytest.mark.parametrize(
    ("incomplete", "offered"),
    [
        ("factors.engine=i", ["factors.engine=iperf3"]),
        ("factors.engine=tech", ["factors.engine=technologies"]),
        ("factors.zero", ["factors.zero_copy="]),
        ("factors.streams=", []),
        ("factors.nothing=", []),
    ],
)
def test_keys_and_named_levels_of_factors_are_completed(incomplete: str, offered: list[str]) -> None:
    context, option = click.Context(click.Command("run")), click.Option(["--set"])
    assert complete_override(context, option, incomplete) == offered


COMPLETED = {
    "run q": ["quickstart"],
    "plan wan": ["wan"],
    "campaigns show mult": ["multipath"],
    "hosts check --campaign mult": ["multipath"],
    "run own": ["own.toml"],
    "view results x=strea": ["x=streams"],
    "view results 'x=streams&y=throughput_b": ["x=streams&y=throughput_bits_per_s"],
    "view results x=streams&y=throughput_bits_per_s,drtt_m": [
        "x=streams&y=throughput_bits_per_s,drtt_median_ns"
    ],
    "view results where.cong": ["where.congestion="],
    "view results col": ["colour="],
    "view results stat=": [],
}


@pytest.fixture
def completing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_results(make_quickstart(cycles=1), tmp_path / "results")
    (tmp_path / "own.toml").touch()
    monkeypatch.chdir(tmp_path)


def complete(shell: str, words: str, incomplete: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What a shell is given for the last word."""
    with pytest.MonkeyPatch.context() as patch:
        number = len(split_arg_string(words)) - 1
        patch.setenv("_PATHLAB_COMPLETE", f"{shell}_complete")
        patch.setenv("COMP_WORDS", words)
        patch.setenv("COMP_CWORD", incomplete if shell == "fish" else str(number))
        said = call([], capsys)
    assert said.status == 0
    return said.out.splitlines() if said.out.strip() else []


@pytest.mark.usefixtures("completing")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("line", COMPLETED)
def test_campaigns_and_columns_are_completed(
    line: str, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"pathlab {line}"
    found = complete(shell, words, split_arg_string(words)[-1], capsys)
    if shell == "zsh":
        offered = [value for kind, value in zip(found[::3], found[1::3], strict=True) if kind == "plain"]
    else:
        parted = [text.split(",", 1) for text in found]
        offered = [value for kind, value in parted if kind == "plain"]
    assert [value for value in offered if "_reverse_" not in value][:1] == COMPLETED[line]


@pytest.mark.usefixtures("completing")
def test_nothing_is_written_while_a_word_is_completed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Path, "mkdir")  # by which it is tried whether a place may be written
    assert "plain,quickstart" in complete("bash", "pathlab run --out here quicks", "quicks", capsys)


@pytest.mark.usefixtures("completing")
@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("view results x = strea", "streams"),  # bash takes `=` for the end of a word
        ("view results x =", "adapter_hop_ns"),
        (
            "view results y = streams,throughput_bits_per_s,drtt_m",
            "streams,throughput_bits_per_s,drtt_median_ns",
        ),
    ],
)
def test_columns_are_completed_where_the_shell_splits_words_at_equal_signs(
    line: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = [text.split(",", 1) for text in complete("bash", f"pathlab {line}", "", capsys)]
    assert kinds[0] == ["plain", first]


def test_columns_that_are_completed_are_those_of_the_explorer(tmp_path: Path) -> None:
    folder = write_results(make_quickstart(cycles=1), tmp_path / "results")
    known = {one.name for one in ExploredResults.open([folder]).columns}
    assert known <= {*list_column_names([str(folder)])}
    assert {*VIEW_KEYS} <= {*KEYS}
    assert {*EXPLORED_COLUMNS} - known <= {measure.key for measure in MEASURES if measure.is_derived}


@pytest.mark.parametrize("place", ["nowhere", "broken"])
def test_results_that_cannot_be_read_have_the_usual_columns(tmp_path: Path, place: str) -> None:
    (tmp_path / "broken").write_bytes(b"SQLite format 3\0" + bytes(100))
    assert list_column_names([str(tmp_path / place)]) == sorted(EXPLORED_COLUMNS)


def test_an_unknown_host_is_a_host_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(["measure", "nowhere.invalid"], capsys)
    assert done.status == 3
    *_, line, fix = done.err.splitlines()
    assert line.startswith("pathlab: host 'nowhere.invalid', connect: ")
    assert fix.startswith("  fix: ")


def test_plan_of_the_quickstart_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in call(["plan", "quickstart", "--json"], capsys).out.splitlines()]
    assert [line["row"] for line in lines] == list(range(36))
    cells = {(line["streams"], line["window_bytes"]) for line in lines}
    assert cells == set(itertools.product((1, 4, 8), (32768, 65536)))
    assert all(line["cycle"] == line["row"] // 6 for line in lines)


def list_printed_waits() -> set[str]:
    """Every value that a message, a help text or a page gives to --wait-idle."""
    pages = [*(ROOT / "pathlab").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    texts = (page.read_text(encoding="utf-8") for page in pages)
    return {value for text in texts for value in re.findall(r"--wait-idle (\d\w*)", text)}


@pytest.mark.parametrize(
    "words", [["run", "quickstart"], ["measure", "local"], ["validate", "local", "local"]]
)
def test_every_printed_wait_for_idle_hosts_is_taken(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sources: list[CampaignSource] = []

    def refuse(source: CampaignSource, *_rest: object) -> NoReturn:
        sources.append(source)
        raise HostError("not run here", host="local", stage=Stage.CONNECT)

    monkeypatch.setattr(f"pathlab.cli.commands.{words[0]}.run_campaign", refuse)
    waits_ns = {"10m": 600 * 10**9, "2m": 120 * 10**9, "1m30s": 90 * 10**9, "5": 5 * 10**9, "100ms": 10**8}
    assert list_printed_waits() <= set(waits_ns), "a printed value that is not tried below"
    for value in waits_ns:
        said = call([*words, "--wait-idle", value, "--out", str(tmp_path)], capsys)
        assert "not run here" in said.err, said.err
    assert [source.wait_idle_ns for source in sources] == list(waits_ns.values())


def test_debug_shows_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Traceback" in call(["--debug", "plan", "nowhere"], capsys).err


@pytest.mark.parametrize("cause", [KeyboardInterrupt, Interrupted, click.exceptions.Abort])
def test_an_interruption_outside_a_trial_is_one_line(
    cause: type[BaseException], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        raise cause

    monkeypatch.setattr(main_module.pathlab, "main", interrupted)
    with pytest.raises(SystemExit) as ended:
        main_module.main([])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "pathlab: interrupted\n"
