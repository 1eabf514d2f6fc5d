"""Help, wrong usage and completion load no more than click: what a command needs is imported when it runs."""

import gc
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pathlab.cli import names
from pathlab.cli.commands.compare import FAIL_ON
from pathlab.cli.figures import TABLE
from pathlab.cli.main import EPILOG_BELOW, SUBCOMMANDS, pathlab
from pathlab.discover.probes import METHODS
from pathlab.report.formats.forms import FORMS, RESULTS_FORMS
from pathlab.report.plots.figure_file import FORMATS as FIGURE_FORMATS
from pathlab.report.report_builder import COMPARISON_FORMS
from pathlab.store.location import HEADER
from pathlab.study.comparison.rows import ChangeVerdict
from tests.command_line import call

ROOT = Path(__file__).resolve().parents[2]
#: What help may load besides the standard library.
LIGHT = {"click", "pathlab"}
#: Modules of PathLab that help may load; of ``pathlab.runner`` only the class of an interruption.
LIGHT_MODULES = {
    *("pathlab", "pathlab._version", "pathlab.described_text", "pathlab.errors", "pathlab.escaping"),
    "pathlab.files",
    "pathlab.host_names",
    *("pathlab.store", "pathlab.store.location", "pathlab.store.exporters"),
    *("pathlab.quantities", "pathlab.units", "pathlab.study", "pathlab.study.measures"),
    *("pathlab.analysis", "pathlab.analysis.estimators", "pathlab.analysis.estimators.margins"),
    *("pathlab.report", "pathlab.report.plots", "pathlab.report.plots.figure_file"),
    *("pathlab.cli", "pathlab.cli.main", "pathlab.cli.declaration", "pathlab.cli.deferred"),
    "pathlab.cli.names",
    *("pathlab.cli.values", "pathlab.cli.completions", "pathlab.cli.choices", "pathlab.cli.host_options"),
    *("pathlab.runner", "pathlab.runner.campaign", "pathlab.runner.campaign.interruption"),
}
#: Prints, for each command line without an outcome, the modules that it was the first to load.
WATCH = """
import contextlib, io, json, os, sys
known = set(sys.modules)
import click
from pathlab.cli.main import main, pathlab

def walk(command, words):
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*words, name))

def load(words, environment={}):
    global known
    os.environ.update(environment)
    out, err = (io.TextIOWrapper(io.BytesIO()) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as ended:
            status = ended.code
    for name in environment:
        del os.environ[name]
    new, known = sorted(set(sys.modules) - known), set(sys.modules)
    key = ("complete " if environment else "") + " ".join(words)
    texts = [(stream.flush(), stream.buffer.getvalue().decode())[1] for stream in (out, err)]
    print(json.dumps([key, status, *texts, new]))

load(["--version"])
load(["--help"])
load([])
for words in walk(pathlab, ()):
    load([*words, "--help"])
    load([*words, "--no-such-option"])
    line = " ".join(["pathlab", *words, "-"])
    places = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) + 1)}
    load(words, {"_PATHLAB_COMPLETE": "bash_complete", **places})
load(["pla"], {"_PATHLAB_COMPLETE": "bash_complete", "COMP_WORDS": "pathlab p", "COMP_CWORD": "1"})
"""


def run_script(script: str, *words: str, cwd: Path) -> list[str]:
    """The lines that a script prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def loads() -> dict[str, tuple[int, str, str, list[str]]]:
    """By command line: exit status, stdout, stderr, modules that it was the first to load."""
    lines = [json.loads(line) for line in run_script(WATCH, cwd=ROOT)]
    return {words: (status, out, err, new) for words, status, out, err, new in lines}


def test_every_command_is_tried(loads: dict[str, tuple[int, str, str, list[str]]]) -> None:
    for command in ("", "run", "import", "results show", "lab exec", "hosts check", "campaigns new"):
        status, out, _, _ = loads[f"{command} --help".strip()]
        assert status == 0
        assert out.startswith(f"Usage: pathlab {command}".rstrip())
        status, _, err, _ = loads[f"{command} --no-such-option".strip()]
        assert status == 2
        # What follows `lab exec` may be options of another program.
        assert ("Missing argument" if command == "lab exec" else "No such option '--no-such-option'") in err
        assert "--help" in loads[f"complete {command}"][1]
    assert "plain,plan" in loads["complete pla"][1]
    assert len(loads) > 100
    status, _, err, _ = loads[""]  # no arguments show the help
    assert status == 2
    assert err.startswith("Usage: pathlab")
    for name in SUBCOMMANDS:
        assert f"\n  {name} " in err
        assert loads[f"{name} --help"][1].rstrip().endswith(EPILOG_BELOW)


def test_no_command_line_without_an_outcome_loads_what_takes_long(
    loads: dict[str, tuple[int, str, str, list[str]]],
) -> None:
    heavy = {words: [name for name in new if _is_heavy(name)] for words, (*_, new) in loads.items()}
    assert {words: found for words, found in heavy.items() if found} == {}


def _is_heavy(name: str) -> bool:
    top = name.partition(".")[0]
    if top not in LIGHT:
        return top not in sys.stdlib_module_names
    return top == "pathlab" and name not in LIGHT_MODULES and not name.startswith("pathlab.cli.commands")


def test_a_heavy_module_would_be_found() -> None:
    assert all(_is_heavy(name) for name in ("numpy", "rich.console", "pathlab.cli.live", "pathlab.serve.app"))
    assert not any(_is_heavy(name) for name in ("click.core", "json", "pathlab.cli.commands.run"))


def list_commands(group: click.Group) -> Iterator[click.Command]:
    """Every command without further subcommands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from list_commands(command) if isinstance(command, click.Group) else [command]


def test_every_command_gives_its_action_what_that_takes() -> None:
    for command in list_commands(pathlab):
        action = command.callback
        taken = inspect.signature(action).parameters.values()
        required = {one.name for one in taken if one.kind is not inspect.Parameter.VAR_KEYWORD}
        given = {str(one.name) for one in command.params}
        assert required <= given, command.name
        inspect.signature(action).bind(**dict.fromkeys(given))  # and nothing that it does not take


def test_names_in_the_help_are_those_of_their_owners() -> None:
    assert FAIL_ON == (ChangeVerdict.WORSE, ChangeVerdict.UNDECIDED)
    assert tuple(FORMS[name].ending for name in COMPARISON_FORMS) == names.COMPARISON_ENDINGS
    assert (tuple(FORMS), tuple(RESULTS_FORMS)) == (names.REPORT_FORMS, names.RESULTS_FORM_NAMES)
    assert tuple(f".{form}" for form in names.FIGURE_FORMS) == (*FIGURE_FORMATS, TABLE)
    assert names.PROBE_METHODS == METHODS


#: Libraries of measurements and analyses, which no refused command line may load.
SLOW = {
    *("jinja2", "matplotlib", "numpy", "pandas", "paramiko", "pyarrow", "scipy", "sqlalchemy"),
    *("starlette", "uvicorn"),
}
#: Command lines that are refused by exit status and a part of the message. RESULTS: stored results.
REFUSALS: dict[tuple[int, str], tuple[str, ...]] = {
    (2, "there is no campaign 'nope'"): (
        *("plan nope", "run nope", "campaigns show nope"),
        "hosts check --campaign nope",
    ),
    (2, "bad.toml:1:8: invalid value"): ("plan bad.toml", "run quickstart --hosts bad.toml"),
    (2, "did you mean 'duration'"): ("plan quickstart --set trial.duratoin=5s",),
    (2, "expected key=value"): ("run quickstart --set x",),
    (2, "there is no profile 'nope'"): ("run quickstart --profile nope",),
    (2, "'a' is not a path"): ("run quickstart --paths a",),
    (2, "hosts file 'nope.toml' cannot be read"): (
        *("run quickstart --hosts nope.toml", "measure local --hosts nope.toml"),
        *("hosts check --hosts nope.toml", "technologies --hosts nope.toml"),
    ),
    (2, "'a..b' is not a host: it has an empty label"): (
        *("measure a..b local", "validate a..b local", "hosts check a..b", "technologies a..b"),
        "path a..b",
    ),
    (2, "port 99999 is out of range"): ("measure local host:99999",),
    (2, "--window: 'bad' is not a size"): ("measure local --window bad",),
    (2, "'nope' is not a time"): (
        *("run quickstart --wait-idle nope", "measure local --time nope", "validate a b --time nope"),
        *("path local --timeout nope", "results prune RESULTS --series-older-than nope"),
    ),
    (2, "there is no ready-made lab 'nope'"): ("validate a b --lab nope",),
    (2, "--figure: 'x.foo' does not end in"): ("path local --figure x.foo",),
    (5, "'nope' does not exist"): (
        *("report nope", "analyze nope", "recommend nope", "export nope --format csv", "serve nope"),
        *("results show nope", "results check nope", "compare nope RESULTS", "view nope"),
        "view RESULTS nope x=streams",
    ),
    (5, "'results' does not exist"): ("serve",),
    (5, "'bad.toml' is not a PathLab results file"): ("report bad.toml", "serve bad.toml"),
    (5, "--out: 'file/x' cannot be written: not a directory"): (
        *("run quickstart --out file/x", "measure local --out file/x", "report RESULTS --out file/x"),
        *("export RESULTS --format csv --out file/x", "results merge RESULTS RESULTS --out file/x"),
    ),
    (5, "--output: 'file/view.csv' cannot be written"): ("view RESULTS --output file/view.csv",),
    (5, "--report: 'file/x.html' cannot be written"): ("compare RESULTS RESULTS --report file/x.html",),
    (2, "reference 'nope' is not known"): ("analyze RESULTS --reference nope", "reference show nope"),
    (2, "--p99 is missing"): ("recommend RESULTS --rate 5k",),
    (2, "--size: '6KB' is ambiguous"): ("recommend RESULTS --size 6KB",),
    (2, "70000 is not in the range"): ("serve RESULTS --port 70000",),
    (2, "'x.foo' does not end in .html, .md or .pdf"): ("compare RESULTS RESULTS --report x.foo",),
    (2, "2 results folders are given"): ("report RESULTS RESULTS",),
    (2, "a report is of one results folder"): ("report RESULTS RESULTS --format md --format explorer",),
    (2, "'view.docx' does not end in .csv, .json, .pdf, .png or .svg"): ("view RESULTS --output view.docx",),
    (5, "'nope' cannot be read"): ("import nope", "inspect nope"),
    (2, "there is no lab 'nope'"): ("lab up nope",),
    (2, "--figure: there is no folder 'nope'"): ("lab show lan --figure nope/x.svg",),
    (2, "nothing runs in 'nope'"): ("stop nope", "pause nope", "resume nope"),
    (2, "'RESULTS' is a folder"): ("inspect RESULTS",),
}
REFUSED = {line: refusal for refusal, lines in REFUSALS.items() for line in lines}
#: Runs each command line in a process of its own, forked before anything but click is loaded.
REFUSE = """
import json, os, sys
import pathlab.cli.main
for line in sys.argv[1:]:
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.dup2(writing, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            pathlab.cli.main.main(line.split())
        except SystemExit as ended:
            loaded = sorted({name.partition(".")[0] for name in sys.modules})
            os.write(writing, b"\\0" + json.dumps([ended.code, loaded]).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as stream:
        text, _, ended = stream.read().partition("\\0")
    os.wait()
    print(json.dumps([line, text, *json.loads(ended)]))
"""


#: Runs a command line until its action loads libraries, and then prints the top-level modules loaded.
FIRST = """
import json, sys
import pathlab.cli.main
from pathlab.cli.deferred import DeferredImports
def stop(self):
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
    sys.exit(0)
DeferredImports.load = stop
pathlab.cli.main.main(sys.argv[1:])
"""


@pytest.mark.parametrize(("options", "lines"), [([], 1), (["--json"], 0)])
def test_a_measurement_says_what_it_does_before_anything_that_takes_long_is_loaded(
    options: list[str], lines: int, tmp_path: Path
) -> None:
    *printed, loaded = run_script(FIRST, "measure", "local", *options, cwd=tmp_path)
    assert len(printed) == lines
    assert set(json.loads(loaded)) & {*SLOW, "pydantic", "rich"} == set()


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, int, set[str]]]:
    """By command line: stderr, exit status, top-level modules loaded."""
    folder = tmp_path_factory.mktemp("refused")
    (folder / "bad.toml").write_text("name = \n", encoding="utf-8")
    (folder / "file").write_text("", encoding="utf-8")
    (folder / "RESULTS").mkdir()
    (folder / "RESULTS" / "results.db").write_bytes(HEADER)
    before = sorted(path for path in folder.rglob("*"))
    lines = [json.loads(line) for line in run_script(REFUSE, *REFUSED, cwd=folder)]
    assert sorted(path for path in folder.rglob("*")) == before
    return {line: (text, status, set(loaded)) for line, text, status, loaded in lines}


@pytest.mark.parametrize("line", REFUSED)
def test_a_wrong_argument_is_refused_before_anything_that_takes_long_is_loaded(
    line: str, refusals: dict[str, tuple[str, int, set[str]]]
) -> None:
    text, status, loaded = refusals[line]
    expected, part = REFUSED[line]
    assert (status, part in text) == (expected, True), text
    assert text.startswith("pathlab: ")
    assert "\n  fix: " in text
    assert "Traceback" not in text
    assert loaded & SLOW == set()


def test_every_command_that_takes_an_argument_is_refused_here() -> None:
    groups = {name for name in SUBCOMMANDS if any(line.startswith(f"{name} ") for line in REFUSED)}
    assert groups == set(SUBCOMMANDS) - {"doctor", "completion"}  # which take options alone


def test_a_command_seldom_searches_for_unused_cycles(capsys: pytest.CaptureFixture[str]) -> None:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    try:
        assert call(["--version"], capsys).status == 0
        assert gc.get_threshold()[0] >= 100_000
    finally:
        gc.set_threshold(*before)
