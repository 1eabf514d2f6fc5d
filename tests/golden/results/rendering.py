"""One kind of results as golden files hold it: printed at 80 columns, as Markdown, and as short JSON."""

import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from pathlab import __version__
from pathlab.cli.summary import print_summary
from pathlab.report.base.answer_table import render_analyses
from pathlab.report.base.blocks import Report
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.formats.markdown import render_markdown
from pathlab.report.formats.report_json import describe_report
from pathlab.report.report_builder import arrange_report
from pathlab.study.analyses import Analyses, Study
from pathlab.study.base.registry import ANALYSES
from pathlab.study.document import build_analysis_document
from tests.builders.printed import print_text
from tests.builders.results import SyntheticResults
from tests.builders.sections import QUICK
from tests.builders.technologies import Facts

COLUMNS = 80
#: Of longer lists the first item is kept: enough to show every field and its unit.
ITEMS_KEPT = 1
#: What the last digits of a fit are depends on the libraries.
DIGITS = 4
Files = dict[str, str]


def render_results(results: SyntheticResults, facts: Mapping[str, Facts] | None = None) -> Files:
    study = Study(results, QUICK)
    if facts is not None:
        study.technology_facts = facts
    return render_study(study)


def render_study(study: Analyses) -> Files:
    """What ``report``, ``analyze`` and their JSON forms show of results, each analysis done once."""
    inputs = ReportInputs(study)
    report = arrange_report(inputs)
    printed = {
        "pathlab report RESULTS": print_text(lambda console: print_summary(inputs, console), COLUMNS),
        "pathlab analyze RESULTS": print_text(lambda console: print_analyses(study, console), COLUMNS),
    }
    return {
        "txt": join_commands(printed),
        "md": render_page(report),
        "json": render_json({"report": describe_report(report), "analysis": build_analysis_document(study)}),
    }


def print_analyses(study: Analyses, console: Console) -> None:
    render_analyses({name: entry(study) for name, entry in ANALYSES.items()}, console)


def render_page(report: Report) -> str:
    return render_markdown(report, "report-figures").replace(
        f"written by PathLab {__version__}", "written by PathLab VERSION"
    )


def join_commands(printed: Mapping[str, str]) -> str:
    return "\n".join(f"$ {command}\n{text}" for command, text in printed.items())


def render_json(document: Mapping[str, Any]) -> str:
    text = json.dumps(shorten(document), ensure_ascii=False, indent=1)
    return text.replace(f'"program_version": "{__version__}"', '"program_version": "VERSION"')


def shorten(value: Any) -> Any:
    """The same with rounded numbers; of longer lists the first item and the number of the others."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: shorten(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        left = len(value) - ITEMS_KEPT
        kept = [shorten(item) for item in value[:ITEMS_KEPT]]
        return [*kept, f"({left} more)"] if left > 0 else kept
    return value
