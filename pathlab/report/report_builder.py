"""A results file as a report: every chapter in its order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pathlab._version import VERSION
from pathlab.errors import UsageError
from pathlab.report.blocks import CampaignFacts, Report, Section, TrialCounts
from pathlab.report.formats.forms import FORMS
from pathlab.report.inputs import ReportInputs
from pathlab.report.sections.chapters import build_sections
from pathlab.report.sections.comparison import build_comparison
from pathlab.report.sections.method import build_appendices, build_method
from pathlab.report.sections.notices import list_notices
from pathlab.report.sections.opening import build_opening
from pathlab.report.sections.trials import build_trials
from pathlab.report.source import ResultsSource, format_utc
from pathlab.report.summary import Summary, summarise
from pathlab.study.analyses import Analyses, Study
from pathlab.study.comparison.rows import ResultsComparison

COMPARISON_FORMS = ("html", "md", "pdf")
NOT_MEASURED = "not-measured"  # key of the chapter that says what the results cannot show


def gather_inputs(results: ResultsSource) -> ReportInputs:
    """What a report of these results is made from; nothing is analysed yet. Trials are read once."""
    study = results if isinstance(results, Analyses) else Study(results)
    summary = summarise(results, study.study_table().frame)
    return ReportInputs(source=results, study=study, summary=summary, windows=_list_windows(summary))


def build_document(results: ResultsSource) -> Report:
    """The whole report. Results without a complete trial give one that says so."""
    return arrange_report(gather_inputs(results))


def arrange_report(inputs: ReportInputs) -> Report:
    """The report of a material whose analyses may have been done in part."""
    campaign, summary = inputs.source.campaign, inputs.summary
    recommendations = inputs.study.recommend()
    chapters = tuple(_list_chapters(inputs)) if summary.complete else ()
    return Report(
        title=summary.title,
        facts=tuple(_list_facts(inputs)),
        footer=(
            f"Campaign {campaign.name} · model digest {campaign.digest[:16]} · measured by PathLab "
            f"{campaign.program_version}, written by PathLab {VERSION}"
        ),
        campaign=CampaignFacts(
            name=campaign.name,
            title=campaign.title,
            digest=campaign.digest,
            seed=campaign.seed,
            created_utc=campaign.created_utc,
            program_version=campaign.program_version,
        ),
        trials=TrialCounts(planned=summary.planned, complete=summary.complete, failed=len(summary.failures)),
        notices=list_notices(summary),
        recommendations=recommendations,
        opening=build_opening(recommendations),
        sections=(build_method(inputs), *chapters, *build_appendices(inputs)),
    )


def write_comparison(found: ResultsComparison, out: Path) -> Path:
    """Write the comparison as the ending of ``out`` says (.html, .md, .pdf) and return its path.

    Raises UsageError for another ending, StoreError where the file cannot be written.
    """
    name = next((form for form in COMPARISON_FORMS if FORMS[form].ending == out.suffix.lower()), None)
    if name is None:
        raise UsageError(
            f"'{out}' does not end in .html, .md or .pdf", hint="for JSON: pathlab compare --json"
        )
    return FORMS[name].write(build_comparison(found), out)


def _list_chapters(inputs: ReportInputs) -> Iterator[Section]:
    """The experiments, single trials, and last what was not measured."""
    found = build_sections(inputs)
    yield from (section for section in found if section.key != NOT_MEASURED)
    yield build_trials(inputs)
    yield from (section for section in found if section.key == NOT_MEASURED)


def _list_facts(inputs: ReportInputs) -> list[str]:
    campaign, summary = inputs.source.campaign, inputs.summary
    facts = [
        f"{summary.complete} complete trial{'s' * (summary.complete != 1)}",
        f"{summary.cycles} cycle{'s' * (summary.cycles != 1)}",
        f"created {format_utc(campaign.created_utc)}",
        f"seed {campaign.seed}",
    ]
    if profile := campaign.model.get("profile"):
        facts.append(f"profile {profile}")
    return [*facts, f"PathLab {campaign.program_version}"]


def _list_windows(summary: Summary) -> tuple[int | None, ...]:
    """Every window that was measured, ascending, autotuned last."""
    windows = {cell.window_requested_bytes for cell in summary.cells}
    return tuple(sorted(windows, key=lambda size: (size is None, size or 0)))
