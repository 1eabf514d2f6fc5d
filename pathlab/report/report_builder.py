"""A results file as a report: every chapter in its order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pathlab._version import VERSION
from pathlab.report.base.blocks import Question, Report, Section
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.names import format_utc
from pathlab.report.base.phrases import format_count
from pathlab.report.chapters import build_sections
from pathlab.report.comparison.comparison import build_comparison
from pathlab.report.flows.streams import build_reasons
from pathlab.report.formats.forms import FORMS, load_libraries
from pathlab.report.opening import build_opening
from pathlab.report.plots.figure_file import check_comparison_file
from pathlab.report.runs.method import build_appendices, build_method
from pathlab.report.runs.notices import list_notices
from pathlab.report.trials.trials import build_over_time, build_trials
from pathlab.study.analyses import Analyses, Study
from pathlab.study.base.trials import StudySource
from pathlab.study.comparison.rows import ResultsComparison

#: What the JSON document has of the campaign.
CAMPAIGN_FACTS = ("name", "title", "digest", "seed", "created_utc", "program_version")
COMPARISON_FORMS = ("html", "md", "pdf")
NOT_DECIDED = "not-decided"  # key of the list of analyses that are not shown


def gather_inputs(results: StudySource) -> ReportInputs:
    """What a report of these results is made from; nothing is analysed yet."""
    return ReportInputs(results if isinstance(results, Analyses) else Study(results))


def build_document(results: StudySource) -> Report:
    """The whole report. Results without a complete trial give one that says so."""
    return arrange_report(gather_inputs(results))


def arrange_report(inputs: ReportInputs) -> Report:
    """The report of inputs whose analyses may have been done in part."""
    campaign, counts = inputs.source.campaign, inputs.study.count_trials()
    return Report(
        title=campaign.title or campaign.name,
        facts=tuple(_list_facts(inputs)),
        footer=(
            f"Campaign {campaign.name} · campaign digest {campaign.digest[:16]} · measured by PathLab "
            f"{campaign.program_version}, written by PathLab {VERSION}"
        ),
        campaign={name: getattr(campaign, name) for name in CAMPAIGN_FACTS},
        trials=counts,
        notices=list_notices(inputs.study),
        recommendations=inputs.study.recommend(),
        opening=build_opening(inputs),
        sections=tuple(_list_sections(inputs)),
    )


def choose_comparison_form(out: Path) -> str:
    """The form that the ending of ``out`` says (.html, .md, .pdf), its libraries loaded.

    Raises UsageError for another ending, and where a library is missing.
    """
    forms = {FORMS[form].ending: form for form in COMPARISON_FORMS}
    check_comparison_file(out, tuple(forms))
    name = forms[out.suffix.lower()]
    load_libraries((name,))
    return name


def write_comparison(comparison: ResultsComparison, out: Path) -> Path:
    """Write the comparison in the form of ``out`` and return its path.

    Raises as ``choose_comparison_form``, and StoreError where the file cannot be written.
    """
    return FORMS[choose_comparison_form(out)].write(build_comparison(comparison), out)


def _list_sections(inputs: ReportInputs) -> Iterator[Section]:
    """What is always shown, the folds of each question, and last what is not shown."""
    sections: list[Section] = []
    last: list[Section] = []
    if inputs.study.count_trials().complete:
        sections += build_over_time(inputs)
        sections += build_reasons(inputs.study.recommend())
        chapters = build_sections(inputs)
        sections += (section for section in chapters if section.key != NOT_DECIDED)
        sections.append(build_trials(inputs, sections))
        last = [section for section in chapters if section.key == NOT_DECIDED]
    sections += (build_method(inputs), *build_appendices(inputs))
    for question in (None, *Question):
        yield from (section for section in sections if section.question is question)
    yield from last


def _list_facts(inputs: ReportInputs) -> list[str]:
    campaign, counts = inputs.source.campaign, inputs.study.count_trials()
    facts = [
        format_count(counts.complete, "complete trial"),
        format_count(counts.cycles, "cycle"),
        f"created {format_utc(campaign.created_utc)}",
        f"seed {campaign.seed}",
    ]
    if profile := campaign.model.get("profile"):
        facts.append(f"profile {profile}")
    return [*facts, f"PathLab {campaign.program_version}"]
