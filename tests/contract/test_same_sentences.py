"""One verdict, one sentence: terminal, REPORT.md, report.html, the explorer's page and JSON say the same.

And the numbers of a headline are those of its row in the tables below it.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from html import unescape
from typing import Any

import numpy as np
import pytest

from pathlab.analysis.estimators.margins import SUFFICIENT_RATIO
from pathlab.cli.summary import print_summary
from pathlab.printed_table import PrintedTable
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.rate_findings import describe_rate_findings
from pathlab.report.base.summary import AnswerText
from pathlab.report.base.trial_flags import PROVISIONAL
from pathlab.report.flows.condition_tables import build_cells_table
from pathlab.report.flows.recommendation_text import DRIFT_WORDS, describe_recommendation
from pathlab.report.formats.html import render_html
from pathlab.report.formats.markdown import render_markdown
from pathlab.report.formats.report_json import describe_report
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.report.topics import list_answers
from pathlab.store.records import PlanRecord, TrialRecord
from pathlab.study.analyses import Analyses
from pathlab.study.flows.candidates import Candidate
from pathlab.study.flows.recommendation import Recommendation
from pathlab.units import format_window
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.printed import print_text
from tests.builders.recommendations import KIB, make, rate
from tests.builders.results import SyntheticResults, make_quickstart, run_plan
from tests.builders.sweeps import make_sweep
from tests.unit.study.flows.test_one_rate import CASES as UNSTEADY
from tests.unit.study.flows.test_one_rate import make_runs

LEVELS = [(1, 64 * KIB), (4, 64 * KIB), (1, 256 * KIB), (2, 256 * KIB)]
Make = Callable[[], SyntheticResults]
Change = Callable[[TrialRecord], TrialRecord]


def measure(cycles: int, change: Change = lambda record: record, **options: Any) -> SyntheticResults:
    made = make_quickstart(cycles=cycles, levels=LEVELS, **options).copy(series={})
    made.change_trials(change)
    return made


def flag(*flags: str, streams: tuple[int, ...], share: int = 1) -> Change:
    """Flags for trials with so many streams, of every ``share``-th cycle."""

    def change(record: TrialRecord) -> TrialRecord:
        is_chosen = record.streams in streams and record.cycle % share == 0
        return replace(record, flags=("lab", *flags) if is_chosen else record.flags)

    return change


def send_late(record: TrialRecord) -> TrialRecord:
    names: dict[str, Any] = {"loaded_rtt_mean_ns": None, "loaded_rtt_median_ns": None, "loaded_sent": 20}
    names |= {"loaded_received": 5, "loaded_late": 15}
    names |= {"loaded_rtt_mean_above_ns": 1.2e9, "loaded_rtt_median_above_ns": 1.1e9}
    return replace(record, **names)


def fall(record: TrialRecord) -> TrialRecord:
    return replace(
        record, throughput_bits_per_s=(record.throughput_bits_per_s or 0) * (1 - 0.02 * record.cycle)
    )


def step(record: TrialRecord) -> TrialRecord:
    return replace(
        record, throughput_bits_per_s=(record.throughput_bits_per_s or 0) * (0.8 if record.cycle > 12 else 1)
    )


def measure_both_ways() -> SyntheticResults:
    """Two directions, the second with another rate, so that each has an answer of its own."""
    made = measure(6)
    plan = [replace(row, settings={**row.settings, "direction": "both"}) for row in made.plan()]
    back = [replace(one, path_source="east", path_destination="west") for one in plan]
    rows = [replace(one, row=number) for number, one in enumerate([*plan, *back])]
    rates = {row: 1.0 if row < len(plan) else 0.25 for row in range(len(rows))}
    records = [*made.records, *made.records]

    def repeat(row: PlanRecord) -> TrialRecord:
        known = records[row.row]
        ends = {"path_source": row.path_source, "path_destination": row.path_destination}
        value = (known.throughput_bits_per_s or 0) * rates[row.row]
        changes: dict[str, Any] = {"plan_row": row.row, "throughput_bits_per_s": value, **ends}
        return replace(known, **changes)

    return run_plan(rows, repeat, environment={})


SLOW = {(1, 64): 20e6, (4, 64): 60e6, (1, 256): 80e6, (2, 256): 100e6}
RESULTS: Mapping[str, Make] = {
    "few trials": lambda: measure(2),
    "decided": lambda: measure(8),
    "windows limit": lambda: make([(1, 64 * KIB), (2, 64 * KIB)], 8, rate({(1, 64): 5e7, (2, 64): 1e8})),
    "one may do": lambda: make(LEVELS, 10, rate({**SLOW, (1, 256): 97e6})),
    "some too busy": lambda: measure(8, flag("lab-limited", streams=(4, 2))),
    "partly too busy": lambda: measure(8, flag("lab-limited", streams=(2, 4), share=2)),
    "all too busy": lambda: measure(8, flag("lab-limited", streams=(1, 2, 4))),
    "a host limits": lambda: measure(8, flag("host-limited", streams=(2, 4))),
    "a host limits all": lambda: measure(3, flag("host-limited", streams=(1, 2, 4))),
    "above the link": lambda: measure(8, flag("over-line-rate", streams=(1, 2, 4))),
    "late": lambda: measure(6, send_late),
    "no delay": lambda: measure(6, lambda one: replace(one, loaded_rtt_mean_ns=None, loaded_sent=None)),
    "drift": lambda: make_sweep(21, levels=LEVELS, change=fall),
    "step": lambda: make_sweep(25, levels=LEVELS, change=step),
    "no trial": lambda: measure(1, lambda one: replace(one, status="failed", failure="refused")),
    "both ways": measure_both_ways,
    "imported": lambda: measure(6, lambda one: replace(one, flags=("imported",)), environment={}),
    "UDP": lambda: make_udp_trials([{"pacing_bits_per_s": 40e6}, {"pacing_bits_per_s": 80e6}], carry_flow),
    **{name: lambda runs=runs: make_runs(runs) for name, (runs, _) in UNSTEADY.items()},  # type: ignore[misc]
}


@dataclass(frozen=True, slots=True)
class Outputs:
    """The texts of every output, without markup, and what they were made from."""

    inputs: ReportInputs
    texts: Mapping[str, str]
    document: Mapping[str, Any]

    @property
    def study(self) -> Analyses:
        return self.inputs.study

    def expect(self, sentence: str, *names: str) -> None:
        """Every output named has the sentence, be it behind another one with a colon."""
        wanted = sentence.lower()
        for name in names or self.texts:
            assert wanted in self.texts[name].lower(), f"not in {name}: {sentence}"


def read_answers(inputs: ReportInputs) -> tuple[AnswerText, ...]:
    return list_answers(inputs.study)


def render(made: SyntheticResults) -> Outputs:
    inputs = gather_inputs(made)
    report = arrange_report(inputs)
    document = describe_report(report)
    texts = {
        "terminal": print_text(lambda console: print_summary(inputs, console), 3000),
        "markdown": render_markdown(report, "figures").replace("\\", ""),
        "html": unescape(render_html(report)).replace("\xa0", " "),
        "page": json.dumps([asdict(one) for one in read_answers(inputs)], ensure_ascii=False),
        "json": json.dumps(document, ensure_ascii=False),
    }
    return Outputs(inputs, {name: text.replace('\\"', '"') for name, text in texts.items()}, document)


@pytest.fixture(scope="module", params=RESULTS)
def outputs(request: pytest.FixtureRequest) -> Outputs:
    return render(RESULTS[request.param]())


def test_every_output_says_the_same(outputs: Outputs) -> None:
    """Lead, confidence, numbers and warnings everywhere; all reasons where there is room."""
    for answer in outputs.study.recommend():
        if answer.condition.is_udp:
            continue  # nothing is recommended for it; its flows are below
        said = describe_recommendation(answer.result)
        for sentence in (said.lead, *said.remarks, *said.warnings, *(value for _, value in said.numbers)):
            outputs.expect(sentence)
        for sentence in said.sentences:
            outputs.expect(sentence, "markdown", "html", "json")
    names = [one.result.name for one in outputs.study.recommend()]
    for one in read_answers(outputs.inputs):
        outputs.expect(one.lead, "terminal", "page")
        outputs.expect(one.lead.removeprefix(next((f"{n}: " for n in names if n in one.lead), "")))
        for remark in one.remarks:
            outputs.expect(remark, "terminal", "page")


def test_drift_levels_hours_and_steadiness_have_one_wording(outputs: Outputs) -> None:
    for answer in outputs.study.drift():
        if answer.result.verdict == "undecided":
            continue  # listed once among what was too little
        outputs.expect(DRIFT_WORDS[answer.result.verdict], "markdown", "html", "json")
        warned = answer.result.verdict in ("drifting", "stepped")
        (found,) = [one for one in outputs.study.recommend() if one.condition == answer.condition]
        if warned and found.result.recommended is not None:
            outputs.expect(DRIFT_WORDS[answer.result.verdict])
        for verdict, words in DRIFT_WORDS.items():
            if len(outputs.study.conditions()) == 1 and verdict != answer.result.verdict:
                assert words not in outputs.texts["markdown"]
    for text in describe_rate_findings(outputs.study, outputs.study.conditions()):
        rate_text = text.partition(": ")[2].removesuffix(".").partition(", the rate changed")[0]
        hours = any(one.slow_hours for one in list_candidates(outputs.study)) and "UTC" not in rate_text
        outputs.expect(rate_text, *(("markdown", "html", "json") if hours else ()))  # hours explain levels


def test_a_headline_has_the_numbers_of_its_row(outputs: Outputs) -> None:
    conditions = {one.key: one for one in outputs.study.conditions()}
    for answer in outputs.study.recommend():
        found = answer.result
        if found.recommended is None:
            continue
        said, chosen = describe_recommendation(found), found.recommended
        table = build_cells_table(conditions[answer.condition])
        row = find_row(table, chosen)
        numbers = dict(said.numbers)
        assert numbers["Throughput"].startswith(row["Throughput"])
        assert numbers["Added delay (dRTT)"] in (row["dRTT"], "not measured")
        if chosen.has_one_rate:
            assert row["Throughput"] in said.lead
        if match := re.search(r"\((?:only )?(\d+) (?:usable )?trials?\)", said.lead):
            assert match[1] == re.match(r"\d+", row["n"])[0]
            assert ("usable" in match[0]) == (" of " in row["n"] and not found.provisional)
        check_confidence(found, said.certainty[0], table)
        rates = [one.median_bits_per_s or 0.0 for one in found.candidates]
        exceeded = SUFFICIENT_RATIO * max(rates) > (chosen.median_bits_per_s or 0.0)
        assert not exceeded or found.over_line or found.excluded
        rows = list_report_rows(outputs.document, chosen)
        assert rows, "the combination is in no table of the report"
        assert any(row["Throughput"] in line for line in rows), rows


def list_candidates(study: Analyses) -> list[Candidate]:
    return [one for answer in study.recommend() for one in answer.result.candidates]


def find_row(table: PrintedTable, chosen: Candidate) -> Mapping[str, str]:
    """The row of a combination, by heading."""
    headings = [column.heading for column in table.columns]
    rows = [dict(zip(headings, row, strict=True)) for row in table.rows]
    (found,) = [
        row
        for row in rows
        if row["Streams"] == str(chosen.streams) and row["Window"] == format_window(chosen.window_bytes)
    ]
    return found


def list_report_rows(document: Mapping[str, Any], chosen: Candidate) -> list[list[str]]:
    """The rows of the combination in the table of windows and streams."""
    found: list[list[str]] = []

    def look(blocks: list[Any]) -> None:
        for block in blocks:
            if block["type"] == "fold":
                look(block["blocks"])
            elif block["type"] == "table" and block["name"].startswith("windows-streams"):
                for row in block["rows"]:
                    texts = [str(one) for one in row]
                    if {format_window(chosen.window_bytes), str(chosen.streams)} <= set(texts):
                        found.append(texts)

    for section in document["sections"]:
        look(section["blocks"])
    return found


def check_confidence(found: Recommendation, sentence: str, table: PrintedTable) -> None:
    """What the confidence counts is in the table."""
    if match := re.search(r"(\d+|both|all \d+|the only) (?:of (\d+) )?combinations?", sentence):
        words = {"both": 2, "the only": 1}
        first = words.get(match[1]) or int(re.sub(r"\D", "", match[1]))
        every = int(match[2] or first)
        assert every == len(table.rows)
        if "too busy" in sentence:
            marked = [row[-1] for row in table.rows if PROVISIONAL in row[-1] or " of " in row[-1]]
            assert first <= len(marked)
    if "nothing smaller was measured" in sentence:
        assert not found.smaller
    if "nothing smaller does" in sentence:
        assert all(one.enough is False for one in found.smaller)
    if match := re.search(r"\((\d+) trials\)", sentence):
        assert int(match[1]) == found.recommended.n


def test_sentences_of_unlike_verdicts_differ() -> None:
    """The table above is worth nothing where every result gets the same answer."""
    leads = {render(RESULTS[name]()).texts["page"] for name in ("decided", "late", "all too busy", "step")}
    assert len(leads) == 4
    assert np.isclose(SUFFICIENT_RATIO, 0.9)
