"""What a change takes: each test adds one thing to a copy of the sources, uses it and counts the files."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders.results import write_results
from tests.builders.sweeps import make_sweep
from tests.release.tree_copy import ROOT, TreeCopy
from tests.require import require, require_engine


@pytest.fixture
def tree(tmp_path: Path) -> TreeCopy:
    return TreeCopy(tmp_path)


def test_a_copy_runs_its_own_sources_and_names_each_changed_file_once(tree: TreeCopy) -> None:
    unit = (ROOT / "pathlab" / "units.py").read_text(encoding="utf-8")
    tree.insert("pathlab/units.py", "FURLONG_CM = 20_117\n", before="SECOND_NS = ")
    tree.write("analysis/furlongs.py", "from pathlab.units import FURLONG_CM as LENGTH_CM\n")
    printed = tree.run("from pathlab.analysis import furlongs; print(furlongs.LENGTH_CM)")
    assert printed == "20117\n"
    assert tree.changed_files() == ["analysis/furlongs.py", "pathlab/units.py"]
    assert (ROOT / "pathlab" / "units.py").read_text(encoding="utf-8") == unit


FACTOR = """    Factor(
        "nap_ns",
        Bounds(TIME, 1000, SECOND_NS, "none"),
        "Time for which the sender sleeps between two writes; `none`: it does not.",
        native=NativeOption("nap-ns", "sender", read=native.read_key("nap_ns"), grants=eq),
    ),
"""
CAMPAIGN_WITH_NAP = """
import json
from pathlab.campaign.factors import format_level, format_levels
from pathlab.campaign.load import build_campaign
from pathlab.campaign.order import plan_rows
from pathlab.campaign.schema import build_json_schema, describe_campaign_file
from pathlab.errors import CampaignError
from pathlab.runner.campaign.row import RowTask, build_spec
from pathlab.engines.settings import find_refused, flow_options, list_settings
from pathlab.engines.spec import Allowed, TrialPath

tables = {
    "format": 1, "name": "naps", "title": "Naps", "seed": 1, "order": "given", "where": "nap != 2ms",
    "paths": [{"source": "local", "destination": "local"}],
    "factors": {"streams": 1, "nap": ["none", "1ms..3ms step 1ms"]},
}
mistakes = []
for factors in ({"nap": ["2s", "1ms"]}, {"nap": "1ms", "engine": "iperf3"}):
    try:
        build_campaign({**tables, "factors": {"streams": 1, **factors}}, label="f")
    except CampaignError as error:
        mistakes += error.mistakes
tables["factors"]["nap"] = "1ms..3ms step 1ms"
rows = plan_rows(build_campaign(tables, label="f"))
path = TrialPath(source="local", destination="local", source_address="::1", destination_address="::1")
spec = build_spec(build_campaign(tables, label="f"), RowTask(row=rows[0], attempt=1), path)
allowed = Allowed(probe_method="icmp", congestion=None)
settings = list_settings(spec, {"nap_ns": 500}, {})
print(json.dumps({
    "mistakes": mistakes,
    "levels": [row.settings["nap_ns"] for row in rows],
    "flags": [
        flow_options(spec, allowed, sends=sends, connects=sends).get("nap-ns") for sends in (True, False)
    ],
    "setting": next(line for line in settings if line["name"] == "nap_ns"),
    "refused": find_refused(settings),
    "words": format_levels({"nap_ns": 10**6}),
    "unset": format_level("nap_ns", None),
    "schema": "nap" in build_json_schema()["$defs"]["Factors"]["properties"],
    "page": describe_campaign_file().count("| `nap` |"),
}))
"""


def test_a_factor_takes_its_entry_and_its_typed_field(tree: TreeCopy) -> None:
    tree.insert("pathlab/campaign/factors.py", FACTOR, before='    Factor(\n        "engine"')
    tree.insert("pathlab/campaign/cell.py", "    nap_ns: int | None\n", before="    engine: str")
    reported = json.loads(tree.run(CAMPAIGN_WITH_NAP))
    assert reported == {
        "mistakes": [
            "f:factors.nap.0: '2s' is out of range; expected a value from 1us to 1s",
            "f:factors.engine: iperf3 does not support nap; "
            "expected where = \"engine != 'iperf3' or nap == 'none'\"",
        ],
        "levels": [1_000_000, 3_000_000],
        "flags": [1_000_000, None],
        "setting": {"name": "nap_ns", "requested": "1000000", "sender": "500", "receiver": None},
        "refused": ["nap-not-granted"],
        "words": {"nap": "1 ms"},
        "unset": "none",
        "schema": True,
        "page": 1,
    }
    assert len(tree.changed_files()) == 2


MEDIANS = """
@dataclass(frozen=True, slots=True, kw_only=True)
class MedianFigures:
    median_bits_per_s: float | None
    undecided: Undecided | None = None


def find_medians(table: TrialTable) -> tuple[Answer[MedianFigures], ...]:
    return tuple(
        Answer(
            condition=sample.condition,
            selection=sample.selection,
            result=MedianFigures(median_bits_per_s=measure_spread(sample.rates_bits_per_s).median),
        )
        for sample in select(table)
    )


"""
MEDIAN_ENTRY = """
    @analysis("Medians", AnswerColumn("median rate", "median_bits_per_s"), UNDECIDED, per="condition")
    def medians(self) -> Iterable[Answer[Any]]:
        \"\"\"The median of all trials.\"\"\"
        return costs.find_medians(self.study_table())

"""
USE_OF_AN_ANALYSIS = """
import json
import pathlab
from pathlab.cli.main import pathlab as command
from pathlab.study.document import build_analysis_document

folder = "results"
with pathlab.open(folder) as results:
    print(results.medians().to_frame()["result.median_bits_per_s"].tolist())
    document = json.loads(json.dumps(build_analysis_document(results, ["medians"])))
    print([answer["result"]["median_bits_per_s"] for answer in document["analyses"]["medians"]])
command(["analyze", folder, "--only", "medians"], standalone_mode=False)
command(["analyze", folder, "--only", "list"], standalone_mode=False)
"""


def test_an_analysis_takes_its_function_and_its_entry(tree: TreeCopy) -> None:
    made = make_sweep(3, levels=[(1, 65536)], change=lambda one: replace(one, throughput_bits_per_s=25e6))
    write_results(made, tree.folder / "results")
    tree.insert("pathlab/study/flows/costs.py", MEDIANS, before="def describe_cells(")
    tree.insert("pathlab/study/analyses.py", MEDIAN_ENTRY, before="    def against_reference(")
    frame, encoded, *printed = tree.run(USE_OF_AN_ANALYSIS).splitlines()
    assert frame == encoded == "[25000000.0]"
    assert any("Medians" in line for line in printed)
    assert any("25 Mbit/s" in line for line in printed)
    assert "medians\tThe median of all trials" in printed
    assert tree.changed_files() == ["pathlab/study/analyses.py", "pathlab/study/flows/costs.py"]


USE_OF_THIRD_ENGINE = """
import json
from pathlib import Path
from pathlab.api import open as open_results
from pathlab.campaign.load import build_campaign
from pathlab.campaign.schema import build_json_schema
from pathlab.campaign.order import plan_rows
from pathlab.errors import CampaignError
from pathlab.runner.campaign.run import CampaignSource, run_campaign

data = {
    "format": 1, "name": "third", "title": "Third", "seed": 1,
    "paths": [{"source": "local", "destination": "local"}],
    "factors": {"streams": [1, 3], "engine": ["third"]},
    "trial": {"warmup": "0ms", "duration": "200ms"},
    "probes": {"interval": "10ms", "unloaded": 1},
}
reported = {"known": build_json_schema()["$defs"]["Combination"]["properties"]["engine"]["enum"]}
try:
    build_campaign(data | {"factors": {"streams": 4, "engine": "third"}}, label="f")
except CampaignError as error:
    reported["refused"] = error.mistakes
campaign = build_campaign(data, label="f")
reported["planned"] = [row.cell.engine for row in plan_rows(campaign)]
outcome = run_campaign(CampaignSource(campaign=campaign, text=""), Path("out"), lambda event: None)
reported["complete"] = outcome.complete
with open_results("out") as results:
    trials = results.trials()
    reported["status"] = sorted(set(trials["status"]))
    reported["streams"] = sorted(trials["streams"].tolist())
    reported["received"] = trials["received_steady_bytes"].tolist()
    reported["sent"] = trials["sent_total_bytes"].tolist()
    reported["probes"] = trials["loaded_received"].tolist()
    reported["version"] = set(trials["engine_version"]).pop()
print(json.dumps(reported))
"""


@pytest.mark.engine
def test_an_engine_takes_one_file(tree: TreeCopy, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is validated, planned, run over loopback and stored."""
    require_engine()
    require(shutil.which("python3"), "python3 on the PATH")
    monkeypatch.setenv("PATHLAB_ENGINE", str(ROOT / "native" / "build" / "pathlab-engine"))
    tree.write("pathlab/engines/third.py", (ROOT / "tests/release/third_engine.py").read_text("utf-8"))
    assert tree.changed_files() == ["pathlab/engines/third.py"]
    reported = json.loads(tree.run(USE_OF_THIRD_ENGINE))
    assert reported["known"][:3] == ["native", "iperf3", "third"]
    where = "where = \"engine != 'third' or streams <= 3\""
    assert reported["refused"] == [
        f"f:factors.engine: third does not support more than 3 streams; expected {where}"
    ]
    assert (reported["planned"], reported["complete"], reported["status"]) == (["third"] * 2, 2, ["complete"])
    assert (reported["streams"], reported["version"]) == ([1, 3], "third 3")
    assert reported["received"] == reported["sent"]  # every byte that was sent has been read
    assert min(reported["received"]) > 0
    assert min(reported["probes"]) > 0


MEASURE_A_FAILURE = """
import dataclasses, datetime, json, pathlib
from pathlab.campaign.cell import PlannedCell
from pathlab.campaign.model import ProbeSettings, TrialSettings
from pathlab.engines.spec import TrialPath, TrialSpec
from pathlab.runner.trial.choreography import TrialData
from pathlab.runner.trial.record import Outcome, build_record
from pathlab.store.column_page import render_column_page
from pathlab.store.exporting import load_format, select_trials
from pathlab.store.records import CampaignRecord, PlanRecord
from pathlab.store.results import Results

ends = {"path_source": "a", "path_destination": "b"}
names = "text program_version title digest name".split()
made = {"created_utc": "2026-01-01T00:00:00.000+00:00", "model": {}, "environment": {}}
texts = dict.fromkeys(names, "x") | made
plan = [PlanRecord(row=0, cycle=0, settings={}, **ends)]
given = {"streams": 1, "duration_ns": 1, "warmup_ns": 0, "direction": "forward", "engine": "native"}
fields = dict.fromkeys(field.name for field in dataclasses.fields(PlannedCell))
cell = PlannedCell(**{**fields, "given": (), **given})
rest = {"trial": TrialSettings.model_validate({}), "probes": ProbeSettings.model_validate({})}
path = TrialPath(source="a", destination="b", source_address=None, destination_address=None)
spec = TrialSpec(row=0, cycle=0, path=path, cell=cell, **rest)
outcome = Outcome(status="failed", attempt=1, started=datetime.datetime.now(datetime.UTC))
record = build_record(spec, TrialData(), outcome, {})
with Results.create("results", CampaignRecord(**texts, seed=0), plan) as results:
    results.add_trial(record, {})
    load_format("csv").export(select_trials(results), pathlib.Path("exported"))
    assert results.trials(tint="red")["trial_id"].tolist() == [1]
header, row = pathlib.Path("exported/trials.csv").read_text().splitlines()
print(dict(zip(header.split(","), row.split(",")))['"tint"'], "| `tint` |" in render_column_page())
"""


def test_a_column_of_a_trial_takes_its_description_and_the_place_that_fills_it(tree: TreeCopy) -> None:
    described = '    tint: Annotated[str | None, "colour of the light"] = None\n'
    tree.insert("pathlab/store/records.py", described, before="    undelivered_bytes: Annotated[")
    tree.insert("pathlab/runner/trial/record.py", '        tint="red",\n', before="        engine_version=")
    assert tree.run(MEASURE_A_FAILURE) == '"red" True\n'
    assert tree.changed_files() == ["pathlab/runner/trial/record.py", "pathlab/store/records.py"]


GREETING = """
from pathlab.store.exporting import ExportFormat, open_target


def export_greeting(selection, out):
    with open_target(out, folder=False) as fresh:
        fresh.write_text(f"{len(selection.trials)} trials")


FORMAT = ExportFormat(export=export_greeting, is_folder=False, ending=".txt")
"""
EXPORT_A_GREETING = """
from pathlab.store.exporters import FORMAT_NAMES
from pathlab.store.exporting import Selection, load_format
import pathlib

load_format("greeting").export(Selection(results=None, trials=()), pathlib.Path("out"))
print("greeting" in FORMAT_NAMES, pathlib.Path("out").read_text())
"""
PINGER = """
from pathlab.store.imported_trial import Measurement, build_probe

TITLE = "Pinger"


def read_trials(given):
    whole = given.match("pinger_ms")
    if whole is None:
        return None
    probes = [build_probe(0, None, 0, round(whole.number("pinger_ms") * 1e6))]
    columns = {"streams": 0, "interval_ns": 1, "warmup_ns": 0, "duration_ns": 1}
    start = "2026-01-01T00:00:00.000+00:00"
    reported = {"columns": columns, "series": {"unloaded_probes": probes}, "ends": ("a", "b")}
    return [Measurement(program="pinger", part="probes", started_utc=start, **reported).build()]
"""
IMPORT_A_PING = """
import pathlab, pathlib
from pathlab.cli.commands.import_ import import_files

pathlib.Path("ping.json").write_text('{"pinger_ms": 12.5}')
reported = {"source": None, "destination": None, "title": "x", "keep_going": False}
import_files((pathlib.Path("ping.json"),), pathlib.Path("results"), **reported)
with pathlab.open("results") as results:
    print(results.origins()[1].program, results.record(1).unloaded_rtt_median_ns)
"""


@pytest.mark.parametrize(
    ("path", "source", "use", "printed"),
    [
        ("pathlab/store/exporters/greeting.py", GREETING, EXPORT_A_GREETING, "True 0 trials"),
        ("pathlab/store/importers/pinger.py", PINGER, IMPORT_A_PING, "pinger 12500000.0"),
    ],
    ids=["exporter", "importer"],
)
def test_an_exporter_or_importer_takes_one_file(
    tree: TreeCopy, path: str, source: str, use: str, printed: str
) -> None:
    tree.write(path, source)
    assert tree.run(use).splitlines()[-1] == printed
    assert tree.changed_files() == [path]


#: Of the topics' imports.
FIRST_LINE = "from pathlab.report.flows import"
TALLY = """
from collections.abc import Iterator

from pathlab.report.base.blocks import Block, Paragraph
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyBlock, LazySection, lazy_text
from pathlab.report.base.topic import Topic


def _count(inputs: ReportInputs) -> Iterator[Block]:
    yield Paragraph(text=f"{len(inputs.conditions)} condition measured.")


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield lazy_text(_count, inputs)


SECTION = LazySection(key="tally", title="Tally", find_gap=lambda inputs: None, blocks=_list_blocks)
TOPIC = Topic(key="tally", sections=(SECTION,))
"""
USE_OF_A_SECTION = """
import pathlab
from pathlab.report.report_builder import build_document
from pathlab.report.formats.markdown import render_markdown

with pathlab.open("results") as results:
    print(render_markdown(build_document(results), "figures"))
"""


def test_a_section_of_the_report_takes_its_module_and_its_place(tree: TreeCopy) -> None:
    made = make_sweep(1, levels=[(1, 65536)])
    write_results(made, tree.folder / "results")
    tree.write("pathlab/report/flows/tally.py", TALLY)
    tree.insert("pathlab/report/topics.py", "from pathlab.report.flows import tally\n", before=FIRST_LINE)
    tree.insert("pathlab/report/topics.py", "    tally.TOPIC,\n", before="    limits.TOPIC,\n)")
    printed = tree.run(USE_OF_A_SECTION).splitlines()
    assert "## Tally" in printed
    assert "1 condition measured." in printed
    assert tree.changed_files() == ["pathlab/report/flows/tally.py", "pathlab/report/topics.py"]


RETRANSMISSIONS_STUDY = '''
from collections.abc import Iterable
from dataclasses import dataclass

from pathlab.study.base.answer import Answer, Spread, measure_spread
from pathlab.study.base.registry import AnalysesBase, AnswerColumn, analysis
from pathlab.study.base.selection import select


@dataclass(frozen=True, slots=True, kw_only=True)
class Retransmissions:
    segments: Spread


class RetransmissionAnalyses(AnalysesBase):
    @analysis("Retransmissions", AnswerColumn("segments", "segments.median"), per="condition")
    def retransmissions(self) -> Iterable[Answer[Retransmissions]]:
        """Segments sent again in a trial."""
        for sample in select(self.study_table()):
            spread = measure_spread(sample.get("retransmitted_segments"))
            found = Retransmissions(segments=spread)
            yield Answer(condition=sample.condition, selection=sample.selection, result=found)
'''
RETRANSMISSIONS_TOPIC = """
from collections.abc import Iterator
from functools import partial

import numpy as np

from pathlab.printed_table import PrintedTable
from pathlab.table_columns import ItemColumn, list_rows
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.phrases import format_spread
from pathlab.report.plots.model import Axis, Points
from pathlab.report.base.answer_tables import build_answers_table
from pathlab.report.base.lazy import Drawing, LazyBlock, LazyPlot, LazySection, draw_panel, lazy_text
from pathlab.report.base.topic import Topic
from pathlab.report.base.summary import AnswerText, TableGroup
from pathlab.study.analyses import Analyses
from pathlab.study.base.answer import Answer
from pathlab.study.flows.retransmission_analyses import Retransmissions

COLUMNS: tuple[ItemColumn[Answer[Retransmissions]], ...] = (
    ItemColumn("Path of segments", left=True, read=lambda answer: answer.condition.path),
    ItemColumn("Sent again", read=lambda answer: f"{answer.result.segments.median:.0f}"),
)


def describe(study: Analyses) -> Iterator[AnswerText]:
    for answer in study.retransmissions():
        text = format_spread(answer.result.segments, lambda value: f"{value:.0f}")
        yield AnswerText(f"Sent again: {text}.")


def tabulate(study: Analyses) -> Iterator[TableGroup]:
    table = PrintedTable(columns=COLUMNS, rows=list_rows(COLUMNS, study.retransmissions()))
    yield TableGroup(tables=[table], explanation="Sent again: segments of TCP.")


def draw(study: Analyses) -> Drawing:
    values = np.array([answer.result.segments.median for answer in study.retransmissions()])
    points = Points(name="median", x=np.arange(len(values), dtype=float), y=values)
    return draw_panel(Axis(label="Path"), Axis(label="Sent again"), [points])


def list_figure_blocks(inputs: ReportInputs) -> Iterator[LazyPlot]:
    shown = partial(draw, inputs.study)
    yield LazyPlot(name="retransmissions-1", title="Sent again", condition="all", draw=shown)


def outline(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield lazy_text(build_answers_table, inputs, "retransmissions")


SECTION = LazySection(
    key="retransmissions", title="Segments sent again", find_gap=lambda _: None, blocks=outline
)
TOPIC = Topic(
    key="retransmissions",
    describe=describe,
    tables=tabulate,
    blocks=list_figure_blocks,
    sections=(SECTION,),
)
"""
USE_OF_A_TOPIC = """
import json
import pathlab
from pathlab.cli.main import pathlab as command
from pathlab.report.formats.html import render_html
from pathlab.report.formats.markdown import render_markdown
from pathlab.report.formats.report_json import describe_report
from pathlab.report.report_builder import arrange_report, gather_inputs
from pathlab.report.chapters import find_plot
from pathlab.report.topics import list_answers

with pathlab.open("results") as results:
    inputs = gather_inputs(results)
    report = arrange_report(inputs)
    print("figure", find_plot(inputs, "retransmissions-1").title)
    print("page", "Sent again" in str(list_answers(results)))
    texts = {"html": render_html(report), "markdown": render_markdown(report, "figures")}
    for name, text in (texts | {"json": json.dumps(describe_report(report))}).items():
        parts = ("Segments sent again", "Sent again: 7", "retransmissions-1")
        print(name, all(part in text for part in parts))
command(["report", "results", "--format", "html"], standalone_mode=False)
command(["analyze", "results", "--only", "retransmissions"], standalone_mode=False)
"""


def test_a_topic_takes_its_analysis_its_chapter_and_an_entry_of_each(tree: TreeCopy) -> None:
    made = make_sweep(7, levels=[(1, 65536)], change=lambda one: replace(one, retransmitted_segments=7))
    write_results(made, tree.folder / "results")
    base = "from pathlab.study.flows.retransmission_analyses import RetransmissionAnalyses\n"
    tree.write("pathlab/study/flows/retransmission_analyses.py", RETRANSMISSIONS_STUDY)
    tree.insert("pathlab/study/analyses.py", base, before="from pathlab.study.flows.steadiness import")
    tree.insert(
        "pathlab/study/analyses.py", "    RetransmissionAnalyses,\n", before="    LosslessAnalyses,\n"
    )
    tree.write("pathlab/report/flows/retransmissions.py", RETRANSMISSIONS_TOPIC)
    tree.insert(
        "pathlab/report/topics.py", "from pathlab.report.flows import retransmissions\n", before=FIRST_LINE
    )
    tree.insert("pathlab/report/topics.py", "    retransmissions.TOPIC,\n", before="    limits.TOPIC,\n)")
    printed = tree.run(USE_OF_A_TOPIC)
    for line in ("figure Sent again", "page True", "html True", "markdown True", "json True"):
        assert line in printed.splitlines()
    assert printed.count("Sent again: 7") == 1  # the answer on the terminal
    assert "Path of segments" in printed
    assert "Retransmissions: " in printed
    assert tree.changed_files() == [
        "pathlab/report/flows/retransmissions.py",
        "pathlab/report/topics.py",
        "pathlab/study/analyses.py",
        "pathlab/study/flows/retransmission_analyses.py",
    ]
