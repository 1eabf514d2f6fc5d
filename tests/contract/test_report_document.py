"""``pathlab report --format json``: its keys are stable, its numbers are JSON, its units are in the names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.report.formats.report_json import DOCUMENT, DOCUMENT_VERSION, describe_report, write_machine
from pathlab.report.report_builder import build_document
from tests.builders.results import SyntheticResults, make_campaign, make_quickstart
from tests.builders.trials import make_failed

KIB = 1024
#: Version 1. Nothing here may go or change its meaning without another number; what is new is added.
KEYS = {
    *("document", "version", "program_version", "title", "facts", "campaign", "trials", "rule", "notices"),
    *("recommendations", "sections"),
}
ANSWER_KEYS = {"condition", "selection", "result", "words"}
RECOMMENDATION_KEYS = {
    *("name", "medium", "candidates", "best", "capacity", "reference_bits_per_s", "recommended"),
    *("confidence", "reason", "undecided", "more_cycles", "line_bits_per_s", "equal_windows", "drift"),
    *("reference", "rival", "rival_rate", "preferred_for", "preferred_by"),
    *("share_of_best_ratio", "share_of_link_ratio"),
}
CANDIDATE_KEYS = {
    *("streams", "window_bytes", "n", "complete", "throughput_bits_per_s", "drtt_ns", "loaded_loss"),
    *("unloaded_loss", "variability_ratio", "sender_cpu_s_per_gb", "receiver_cpu_s_per_gb", "limit"),
    *("effective_window_bytes", "limit_undecided", "exclusion", "share_ratio", "enough", "equivalent"),
    *("more_cycles", "over_line", "climb", "at_requested_rate"),
}
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
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"), parse_constant=refuse_constant)
    return found


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_keys_are_those_of_the_version(document: dict[str, Any]) -> None:
    assert (
        (document["document"], document["version"]) == (DOCUMENT, DOCUMENT_VERSION) == ("pathlab-report", 1)
    )
    assert document.keys() >= KEYS
    (answer,) = document["recommendations"]
    assert answer.keys() >= ANSWER_KEYS
    assert answer["result"].keys() >= RECOMMENDATION_KEYS
    assert all(one.keys() >= CANDIDATE_KEYS for one in answer["result"]["candidates"])
    assert document["campaign"].keys() >= {
        "name",
        "title",
        "digest",
        "seed",
        "created_utc",
        "program_version",
    }
    counted = {"planned": 24, "done": 23, "missing": 1, "cycles": 6, "complete": 23, "failed": 1}
    assert document["trials"] == counted | {"stages": ["connect"], "interrupted": 0}
    for section in document["sections"]:
        assert section.keys() >= {"key", "title", "blocks"}
        for block in list_blocks(section["blocks"]):
            assert block.keys() >= BLOCK_KEYS[block["type"]]


def test_the_answer_has_its_numbers_in_base_units(document: dict[str, Any]) -> None:
    (answer,) = document["recommendations"]
    found = answer["result"]
    assert found["confidence"] in ("high", "medium")
    chosen = found["recommended"]
    assert (chosen["streams"] * chosen["window_bytes"]) == 256 * KIB
    rates = chosen["throughput_bits_per_s"]
    assert rates["interval"]["low"] < rates["median"] < 40e6
    assert 10e6 < chosen["drtt_ns"]["median"] < 20e6
    assert chosen["loaded_loss"]["sent"] == 20 * chosen["n"]
    assert found["line_bits_per_s"] == pytest.approx(40e6 * 1448 / 1500)
    assert answer["words"]["lead"].startswith("Use ")
    assert answer["condition"]["path_source"] == "west"


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


def test_nothing_measured_is_a_document_too(tmp_path: Path) -> None:
    found = describe_report(build_document(SyntheticResults(make_campaign(), [], [], {})))
    assert found["recommendations"] == []
    assert [notice["kind"] for notice in found["notices"]] == ["empty"]
    assert {name: count for name, count in found["trials"].items() if count} == {}
