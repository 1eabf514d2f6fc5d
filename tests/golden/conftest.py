"""Golden files hold what PathLab says: a test compares, ``make golden`` (``--accept``) writes them anew.

``golden(NAME, TEXT)`` is a whole file beside the test's module. ``say(TEXT)`` is for tests of
short texts: what a test says is a section of the file that is named after its module; its temporary folder is
FOLDER there.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Digits of a number below 1e-9: a fit's parameter, whose last digits depend on the processor's arithmetic.
TINY = re.compile(r"\d(?:\.\d+)?(?=e-[1-9]\d\b)")
Golden = Callable[[str, str], None]
Say = Callable[[object], None]
Error = TypeVar("Error", bound=BaseException)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write the golden files anew: make golden")


@pytest.fixture(scope="session")
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether what is printed now is right."""
    return bool(request.config.getoption("--accept", default=False))


@pytest.fixture(scope="module")
def golden(request: pytest.FixtureRequest, *, accept: bool) -> Golden:
    def compare(name: str, text: str) -> None:
        file = request.path.with_name(name)
        lines = list_lines(text)
        if file.suffix == ".md":
            lines = [TINY.sub("#", line) for line in lines]
        if accept:
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        kept = file.read_text(encoding="utf-8") if file.exists() else ""
        assert lines == kept.splitlines(), explain(file)

    return compare


@pytest.fixture(scope="module")
def kept_sections(request: pytest.FixtureRequest, *, accept: bool) -> Iterator[dict[str, list[str]]]:
    """The texts of the module's golden file by test; accepted ones are written when the module ends."""
    file = find_file(request.path)
    if not accept:
        yield read_sections(file) if file.exists() else {}
        return
    found: dict[str, list[str]] = {}
    yield found
    parts = ("\n".join([f"## {name}", *lines]) for name, lines in found.items())
    file.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


@pytest.fixture
def say(
    request: pytest.FixtureRequest,
    kept_sections: dict[str, list[str]],
    tmp_path_factory: pytest.TempPathFactory,
    *,
    accept: bool,
) -> Iterator[Say]:
    name = re.sub(r"[\s_]+", " ", request.node.name.removeprefix("test_"))
    file = find_file(request.path)
    said: list[str] = []
    differs = False
    own_folder = re.compile(rf"{re.escape(str(tmp_path_factory.getbasetemp()))}/[^/\s:']+")

    def compare(text: object) -> None:
        said.extend(own_folder.sub("FOLDER", line) for line in describe(text))
        nonlocal differs
        differs = not accept and said != kept_sections.get(name, [])[: len(said)]
        assert accept or said == kept_sections.get(name, [])[: len(said)], explain(file)

    yield compare
    if accept:
        kept_sections[name] = said
    elif not differs:
        assert said == kept_sections.get(name), explain(file)


def catch(kind: type[Error], call: Callable[..., object], *given: Any, **named: Any) -> Error:
    """The error of that kind with which a call ends."""
    with pytest.raises(kind) as caught:
        call(*given, **named)
    return caught.value


def find_file(module: Path) -> Path:
    return module.with_name(f"{module.stem.removeprefix('test_')}.txt")


def explain(file: Path) -> str:
    return (
        f"what is printed is not in {file.relative_to(ROOT)}. "
        "Look at the difference; if the new text is right, run `make golden` and commit the file."
    )


def describe(text: object) -> list[str]:
    """The lines of a text, of each of several, of names with their values, or of an error with what to do."""
    if isinstance(text, BaseException):
        hint = getattr(text, "hint", None)
        return [*list_lines(str(text)), *([f"  fix: {hint}"] if hint else [])]
    if isinstance(text, Mapping):
        return [line for name, value in text.items() for line in list_lines(f"{name}: {value}")]
    if isinstance(text, (set, frozenset)):
        return describe(sorted(text))
    if isinstance(text, Iterable) and not isinstance(text, str):
        return [line for item in text for line in describe(item)]
    return list_lines(str(text))


def list_lines(text: str) -> list[str]:
    """Lines without spaces at their end, that no editor may change."""
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def read_sections(file: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in re.split(r"^## ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        found[name] = lines
    return found
