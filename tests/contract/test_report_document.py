"""``pathlab report --format json``: its keys are stable, its numbers are JSON, its units are in the names."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pathlab.report.formats.report_json import write_machine
from pathlab.report.report_builder import build_document
from tests.builders.results import make_quickstart
from tests.builders.trials import make_failed

KIB = 1024
#: Version 1. Nothing here may go or change its meaning without another number; what is new is added.
BLOCK_KEYS = {
    "paragraph": {"type", "text", "note", "lead"},
    "subheading": {"type", "text"},
    "bullets": {"type", "items"},
    "facts": {"type", "items"},
    "preformatted": {"type", "text"},
    "table": {"type", "name", "title", "headings", "rows", "note", "constants", "shown"},
    "figure": {"type", "name", "title", "condition", "sentence", "empty", "axes", "data"},
    "fold": {"type", "title", "blocks"},
}


def list_blocks(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        yield block
        yield from list_blocks(block.get("blocks", []))


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    results = make_quickstart(cycles=6, levels=[(1, 64 * KIB), (2, 64 * KIB), (4, 64 * KIB), (1, 256 * KIB)])
    results.records[0] = make_failed(results.records[0])
    out = write_machine(build_document(results), tmp_path_factory.mktemp("report") / "report.json")
    text = out.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return found


def test_keys_are_those_of_the_version(document: dict[str, Any]) -> None:
    """The keys outside the blocks are in ``tests/golden/results``."""
    assert (document["document"], document["version"]) == ("pathlab-report", 1)
    counted = {"planned": 24, "done": 23, "missing": 1, "cycles": 6, "complete": 23, "failed": 1}
    assert document["trials"] == counted | {"stages": ["connect"], "interrupted": 0}
    for section in document["sections"]:
        assert section.keys() >= {"key", "title", "blocks"}
        for block in list_blocks(section["blocks"]):
            assert block.keys() >= BLOCK_KEYS[block["type"]]


def test_figures_bring_their_numbers_and_tables_all_their_rows(document: dict[str, Any]) -> None:
    blocks = [block for section in document["sections"] for block in list_blocks(section["blocks"])]
    figures = [block for block in blocks if block["type"] == "figure"]
    assert len(figures) > 10
    for figure in figures:
        assert bool(figure["data"]["rows"]) is (figure["empty"] is None)
        width = len(figure["data"]["headings"])
        assert all(len(row) == width for row in figure["data"]["rows"])
    tables = [block for block in blocks if block["type"] == "table"]
    assert tables
    for table in tables:
        assert all(len(row) == len(table["headings"]) for row in table["rows"])
    assert len({block["name"] for block in (*figures, *tables)}) == len(figures) + len(tables)
