"""``pathlab report RESULTS --figure NAME``: one figure of a report as a file, or the names of all."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import click

from pathlab.errors import UsageError
from pathlab.report.inputs import ReportInputs
from pathlab.report.plots.export import write_csv
from pathlab.report.plots.model import Plot
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import FORMATS, write_figure
from pathlab.report.report_builder import gather_inputs
from pathlab.report.sections import chapters, trials
from pathlab.report.sections.lazy import LazyPlot
from pathlab.study.analyses import StudiedResults

LIST = "list"
TABLE = ".csv"


def write_single(stored: StudiedResults, name: str, out: Path | None, style: Path | None) -> None:
    """Write the figure of that name and print the file's path; ``list``: print all names with titles.

    ``out`` ends in .svg, .pdf, .png or .csv (its numbers); None: NAME.svg in the working folder. Raises
    UsageError for an unknown name, an ending, a style or a file that cannot be used.
    """
    if name == LIST:
        _refuse_rest(out, style)
        for listed in _list_figures(gather_inputs(stored)):
            click.echo(f"{listed.name}\t{listed.title}, {listed.condition}")
        click.echo(f"trial-N\tall series of trial N, {_format_range(stored)}")
        return
    place = Path(f"{name}.svg") if out is None else out
    _check_place(place, style)
    inputs = gather_inputs(stored)
    plot = chapters.find_plot(inputs, name) or trials.find_trial_plot(inputs, name)
    if plot is None:
        raise _unknown(inputs, name)
    if place.suffix.lower() == TABLE:
        _write_table(plot, place)
    else:
        write_figure(plot, place, style)
    if (reason := prepare_plot(plot).empty) is not None:
        click.echo(f"pathlab: figure '{name}' is empty: {reason}", err=True)
    click.echo(str(place))


def _list_figures(inputs: ReportInputs) -> Iterator[LazyPlot]:
    yield from chapters.list_lazy_plots(inputs)
    yield from trials.list_trial_plots(inputs)


def _refuse_rest(out: Path | None, style: Path | None) -> None:
    for option, given in (("--out", out), ("--style", style)):
        if given is not None:
            raise UsageError(
                f"'--figure {LIST}' writes no file, so it takes no {option}", hint=f"leave {option} out"
            )


def _check_place(place: Path, style: Path | None) -> None:
    """What can be refused is refused before a figure is made."""
    endings = (*FORMATS, TABLE)
    if place.suffix.lower() not in endings:
        raise UsageError(
            f"--out: '{place}' does not end in {', '.join(endings)}", hint="name a file such as figure.svg"
        )
    if not place.absolute().parent.is_dir():
        raise UsageError(f"--out: there is no folder '{place.parent}'", hint="name a folder that exists")
    if place.suffix.lower() == TABLE and style is not None:
        raise UsageError("--style does not apply to .csv", hint="leave --style out, or write .svg")


def _write_table(plot: Plot, place: Path) -> None:
    try:
        place.write_text(write_csv(plot), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"the table '{place}' cannot be written: {error.strerror or error}",
            hint="name a file that may be written",
        ) from error


def _unknown(inputs: ReportInputs, name: str) -> UsageError:
    names = [*(lazy.name for lazy in _list_figures(inputs)), "trial-1"]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    meant = f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
    return UsageError(f"there is no figure '{name}'{meant}", hint="'--figure list' names all of them")


def _format_range(stored: StudiedResults) -> str:
    numbers = stored.trials()["trial_id"]
    return f"from {numbers.min()} to {numbers.max()}" if len(numbers) else "none stored yet"
