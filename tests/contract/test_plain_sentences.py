"""No text for readers has one of the constructions that readers stumbled over, wherever it would be."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: A construction, and what is written instead.
CONSTRUCTIONS = {
    r"(?<![Tt]here )\b(?:is|are) no (?!longer\b)\w+$|'?\{\}'? is no \w+": "is not a ...",
    r"is no unit": "unknown unit '...'",
    r"neither form": "it is neither ... nor ...",
    r"\?;": "did you mean '...'? Expected ...",
    r"[Tt]entatively": "Probably ...",
    r"carr(?:y|ies) enough": "reaches the full rate",
    r"counted more than": "show more than the link rate",
    r"the least p99": "the lowest p99",
    r"On the front": "Best p99 at each rate: ...",
    r"model digest": "campaign digest",
    r"of the averages": "Added delay (dRTT)",
    r"takes its form": "the ending of --out sets the format",
    r"[Nn]othing was imported": "a fix is something to do",
    r"too few for one\b": "fewer than 6",
    r"as every trial of": "all trials lab-limited",
    r"goes on until": "stays up until",
    r"a fresh one|afresh\b": "a new one",
    r"way (?:back|there)\b": "return path, forward path",
    r"\bso many\b|such a one|tells of|is told": "see WORDS: subject, verb, object",
}
#: Pages that count as text of the product, besides the strings of its programs.
PAGES = ("README.md", "docs/REPORT.md", "docs/EXPLORER.md", "docs/IMPORTS.md")


def list_python_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Strings that are no docstrings; ``{}`` for what is put in."""
    nodes = list(ast.walk(tree))
    skipped = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    skipped |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = (str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.lineno, node.value


def list_texts() -> Iterator[tuple[str, str]]:
    """Every place with its text."""
    for package in ("pathlab", "agents"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for line, text in list_python_texts(ast.parse(path.read_text(encoding="utf-8"))):
                yield f"{path.relative_to(ROOT)}:{line}", text
    scripts = sorted((ROOT / "pathlab" / "web").glob("[cp]*/*.js"))
    sources = sorted((ROOT / "native" / "src").rglob("*.c"))
    for path in (*scripts, *sources):
        for number, code in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not code.lstrip().startswith(("//", "*", "/*")):
                for text in re.findall(r'"((?:[^"\\]|\\.)*)"', code):
                    yield f"{path.relative_to(ROOT)}:{number}", text
    for page in PAGES:
        yield page, (ROOT / page).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    return list(list_texts())


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
def test_no_text_has_a_construction_that_readers_stumbled_over(
    construction: str, texts: list[tuple[str, str]]
) -> None:
    known = re.compile(construction)
    found = [(place, text[:100]) for place, text in texts if known.search(text)]
    assert found == [], f"write: {CONSTRUCTIONS[construction]}"


def test_the_texts_are_those_of_the_product(texts: list[tuple[str, str]]) -> None:
    every = " ".join(text for _, text in texts)
    for known in ("Confidence: ", "Include unusable trials", "is not a numeric address", "Share of the best"):
        assert known in every


def test_a_fix_begins_with_a_small_letter_and_has_no_full_stop() -> None:
    goldens = [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "golden").rglob("*.txt")]
    fixes = {line for text in goldens for line in re.findall(r"^ *(?:fix|hint): (.+)$", text, re.MULTILINE)}
    for path in (ROOT / "pathlab").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                fixes |= {text for _, text in list_python_texts(node.value)}
    assert len(fixes) > 300  # they were found at all
    assert {fix for fix in fixes if re.match(r"(?!Debian: )[A-Z][a-z]", fix) or fix.endswith(".")} == set()
