"""A results file as a report: every chapter in its order."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab._version import VERSION
from pathlab.report.blocks import CampaignFacts, Report, Section, TrialCounts
from pathlab.report.page.answer import answer_paths
from pathlab.report.sections.chapters import build_sections
from pathlab.report.sections.material import Material
from pathlab.report.sections.method import build_appendices, build_method
from pathlab.report.sections.notices import list_notices
from pathlab.report.sections.opening import build_opening
from pathlab.report.sections.trials import build_trials
from pathlab.report.source import ResultsSource, format_utc
from pathlab.report.summary import Summary, summarise
from pathlab.study.analyses import Analyses, Study

NOT_MEASURED = "not-measured"  # key of the chapter that says what the results cannot show


def gather_material(results: ResultsSource) -> Material:
    """What a report of these results is made from; nothing is analysed yet. Trials are read once."""
    study = results if isinstance(results, Analyses) else Study(results)
    summary = summarise(results, study.study_table().frame)
    return Material(source=results, study=study, summary=summary, windows=_list_windows(summary))


def build_document(results: ResultsSource) -> Report:
    """The whole report. Results without a complete trial give one that says so."""
    return arrange_report(gather_material(results))


def arrange_report(material: Material) -> Report:
    """The report of a material whose analyses may have been done in part."""
    campaign, summary = material.source.campaign, material.summary
    answers = answer_paths(material)
    chapters = tuple(_list_chapters(material)) if summary.complete else ()
    return Report(
        title=summary.title,
        facts=tuple(_list_facts(material)),
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
        answers=answers,
        opening=build_opening(answers),
        sections=(build_method(material), *chapters, *build_appendices(material)),
    )


def _list_chapters(material: Material) -> Iterator[Section]:
    """The experiments, single trials, and last what was not measured."""
    found = build_sections(material)
    yield from (section for section in found if section.key != NOT_MEASURED)
    yield build_trials(material)
    yield from (section for section in found if section.key == NOT_MEASURED)


def _list_facts(material: Material) -> list[str]:
    campaign, summary = material.source.campaign, material.summary
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
