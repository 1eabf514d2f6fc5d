"""The documentation agrees with the program: pages of the commands, examples, tables, named paths."""

import ast
import contextlib
import json
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pathlab import __version__
from pathlab.cli.main import SUBCOMMANDS, pathlab
from pathlab.errors import StoreError
from pathlab.runner import journal
from tests.require import require_engine

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "cli"


def test_the_pages_of_the_commands_are_those_that_the_commands_make() -> None:
    # In a process of its own: click keeps the help option that a command was first asked for.
    script = (
        "import json, runpy; pages = runpy.run_path('tools/cli_pages.py'); "
        "readme = pages['README'].read_text(encoding='utf-8'); "
        "assert pages['write_statuses'](readme) == readme, 'run python tools/cli_pages.py'; "
        "print(json.dumps(pages['make_pages']()))"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    stored = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    assert sorted(stored) == sorted(made)
    for name, text in made.items():
        assert stored[name] == text, f"docs/cli/{name} is old: run python tools/cli_pages.py"


@pytest.mark.parametrize(
    ("script", "page"),
    [
        ("engine_page.py", "pathlab-engine.md"),
        ("analyses_table.py", "ANALYSES.md"),
        ("technologies_table.py", "TECHNOLOGIES.md"),
    ],
)
def test_a_page_is_that_which_its_script_makes(script: str, page: str) -> None:
    require_engine()
    made = runpy.run_path(str(ROOT / "tools" / script))["make_page"]()
    stored = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert stored == made, f"docs/{page} is old: run python tools/{script}"


def list_command_lines() -> Iterator[str]:
    """Every example of the pages, and every line that README, docs/ and the site print as code."""
    tables = tomllib.loads((PAGES / "examples.toml").read_text(encoding="utf-8"))
    for table in tables.values():
        yield from (line for line, _ in table["examples"])
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith("    pathlab "):
                yield line


@pytest.mark.parametrize("line", list(dict.fromkeys(list_command_lines())))
def test_every_command_line_of_the_documentation_parses(line: str) -> None:
    words = shlex.split(line.partition(" > ")[0], comments=True)
    assert words[0] == "pathlab"
    context = click.Context(pathlab, info_name="pathlab", **pathlab.context_settings)
    command: click.Command | None = pathlab
    rest = words[1:]
    while isinstance(command, click.Group) and rest:
        name, *rest = rest
        command = command.get_command(context, name)
        assert command is not None, f"no command '{name}'"
        context = click.Context(command, info_name=name, parent=context)
    with contextlib.suppress(StoreError):  # results and folders that an example names
        command.make_context(command.name, rest, parent=context.parent)


def test_every_example_belongs_to_a_command_and_every_command_has_one() -> None:
    tables = tomllib.loads((PAGES / "examples.toml").read_text(encoding="utf-8"))
    assert set(tables) == {"pathlab", *SUBCOMMANDS} - {"completion"}  # completion's help holds its examples
    for name, table in tables.items():
        for line, _ in table["examples"]:
            assert name == "pathlab" or line.startswith(f"pathlab {name} ") or line == f"pathlab {name}"


def test_every_decision_is_listed_and_gives_choice_and_reason() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\S+) \| \[(.+)\]\((\S+)\) \|$", index, re.MULTILINE)
    pages = {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert sorted(name for _, _, name in listed) == sorted(pages)
    for date, title, name in listed:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        assert lines[0] == f"# {title}"
        assert name.startswith(f"{date}-")
        assert lines[2].startswith(f"{date} · ")
        assert [line for line in lines if line.startswith("## ")][:2] == ["## Choice", "## Why"], name


def test_the_citation_names_this_version_and_licence() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in text
    assert "\nlicense: Apache-2.0\n" in text


TECHNOLOGIES = runpy.run_path(str(ROOT / "tools" / "technologies_table.py"))


def test_the_tests_have_the_packages_of_all_technologies() -> None:
    manifests = TECHNOLOGIES["read_manifests"]([ROOT / "agents" / "adapters"]).values()
    needed = set(TECHNOLOGIES["list_packages"](manifests, "debian")) - TECHNOLOGIES["ESSENTIAL"]
    lines = (ROOT / "tests" / "packages.sh").read_text(encoding="utf-8").splitlines()
    assert needed <= {line.partition(":")[0] for line in lines}
    python = TECHNOLOGIES["list_packages"](manifests, "pip")
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    extra = ast.literal_eval(re.findall(r"^TECHNOLOGIES = (.*)$", setup, re.MULTILINE)[0])
    assert set(python) <= {re.split("[<>=]", line)[0] for line in extra}


#: Files of a user, which the checkout does not have.
USER_FILES = ("hosts.toml", "results.db", "my-campaign.toml")


def find_missing_paths(page: Path) -> list[str]:
    """Paths in backticks that do not exist; one beside another may be relative to its folder or one above."""
    missing = []
    for line in page.read_text(encoding="utf-8").splitlines():
        folders = [ROOT, ROOT / "pathlab"]
        for name in re.findall(r"`([\w./-]+)`", line):
            if not re.search(r"/|\.(?:py|c|h|md|toml|js|sh)$", name) or name.startswith(("/", "~", ".")):
                continue
            if name in USER_FILES or name.startswith("results/"):
                continue
            found = next((path for folder in folders if (path := folder / name).exists()), None)
            if found is None:
                missing.append(f"{page.name}: {name}")
                continue
            nearest = found if found.is_dir() else found.parent
            folders = [nearest, *nearest.parents, *folders]
    return missing


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/architecture.md", "README.md", "SECURITY.md"])
def test_every_path_that_a_page_names_exists(name: str) -> None:
    assert find_missing_paths(ROOT / name) == []


def test_the_architecture_describes_every_package_and_module_beside_them() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = [path for path in (ROOT / "pathlab").iterdir() if (path / "__init__.py").exists()]
    assert len(folders) > 10
    names = [f"{'' if folder.is_symlink() else 'pathlab/'}{folder.name}/" for folder in folders]
    names += [f"pathlab/{path.name}" for path in (ROOT / "pathlab").glob("[!_]*.py")]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_page_on_events_names_every_kind_of_notice() -> None:
    kinds = set(re.findall(r"``([a-z-]+)``", journal.__doc__ or "")) - journal.QUIET
    assert len(kinds) > 10
    page = (ROOT / "docs" / "EVENTS.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("| `notice` |")]
    assert {kind for kind in kinds if f"`{kind}`" not in line} == set()


def test_every_name_of_the_architecture_is_defined_where_it_says() -> None:
    text = " ".join((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split())
    named = re.findall(r"`(\w+)` in `([\w/]+\.py)`", text)
    assert len(named) > 10
    for name, path in named:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(?:class|def) {name}\b", source, re.MULTILINE), f"{path} has no {name}"


def test_a_path_that_is_gone_is_found(tmp_path: Path) -> None:
    page = tmp_path / "PAGE.md"
    page.write_text("| `pathlab/units.py`, `errors.py`, `gone.py` | `pathlab/gone/` | `pathlab.gone` |\n")
    assert find_missing_paths(page) == ["PAGE.md: gone.py", "PAGE.md: pathlab/gone/"]


#: A command that installs Python packages, up to the end of its line or quotation.
INSTALL = re.compile(r"\b(?:pip3?|pipx|uv tool|uv pip)\b[^\n`]{0,40}? install\b([^\n`]*)")
#: PathLab by name alone, with or without extras: on the public index that is somebody else's project.
BARE_NAME = re.compile(r"^pathlab(?:[-_]analyzer)?(?:\[.*\])?(?:[=<>~!].*)?$")


def list_bare_names(text: str) -> list[str]:
    words = (word.strip("'\",.;:)(") for found in INSTALL.findall(text) for word in found.split())
    return [word for word in words if BARE_NAME.match(word)]


def test_no_advice_installs_the_project_of_the_same_name() -> None:
    assert list_bare_names("run `python3 -m pip install -U 'pathlab[pdf]'`") == ["pathlab[pdf]"]
    assert list_bare_names("pip install ./pathlab_analyzer-*.whl, pip install -e '.[pdf]', pathlab") == [
        "pathlab"
    ]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.md", "*.py", "*.toml", "*.yml", "*.sh", "*.txt", "Makefile", "action/*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files = [ROOT / name for name in listed.split("\0") if name and ROOT / name != Path(__file__)]
    found = {
        str(file): names for file in files if (names := list_bare_names(file.read_text(encoding="utf-8")))
    }
    assert found == {}
