"""``pathlab report RESULTS --figure NAME``: one figure of a report as a file, or the names of all."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from pathlab.cli.console import print_left_out
from pathlab.cli.names import FIGURE_FORMS, LIST
from pathlab.errors import UsageError
from pathlab.files import replace_file
from pathlab.report import chapters
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyPlot
from pathlab.report.plots.export import write_csv
from pathlab.report.plots.figure_file import FORMATS, check_figure_file, convert_write_errors
from pathlab.report.plots.figure_look import OWN_LOOK, FigureLook
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import write_figure
from pathlab.report.report_builder import gather_inputs
from pathlab.report.trials import trials
from pathlab.study.analyses import StudiedResults

TABLE = ".csv"


def write_single(
    stored: StudiedResults, name: str, out: Path | None, style: Path | None, look: FigureLook = OWN_LOOK
) -> None:
    """Write the figure of that name and print the file's path; ``list``: print all names with titles.

    ``out`` ends in .svg, .pdf, .png or .csv (its numbers); None: NAME.svg in the working folder. Raises
    UsageError for an unknown name, an ending, a style, a size, a label or a file that cannot be used. Texts
    that the picture leaves out are printed.
    """
    if name == LIST:
        _check_no_options(out, style, look)
        for listed in _list_figures(gather_inputs(stored)):
            click.echo(f"{listed.name}\t{listed.title}, {listed.condition}")
        click.echo(f"trial-N\tall series of trial N, {_format_range(stored)}")
        return
    path = Path(f"{name}.svg") if out is None else out
    check_figure_file(path, "--out", (*FORMATS, TABLE))
    if path.suffix.lower() == TABLE:
        for option in _list_options(style, look):
            raise UsageError(f"{option} does not apply to .csv", hint=f"leave {option} out, or write .svg")
    inputs = gather_inputs(stored)
    plot = chapters.find_plot(inputs, name) or trials.find_trial_plot(inputs, name)
    if plot is None:
        raise _unknown(inputs, name)
    if path.suffix.lower() == TABLE:
        with convert_write_errors(path):
            replace_file(path, write_csv(plot).encode())
    else:
        print_left_out(write_figure(plot, path, style, look))
    if (reason := prepare_plot(plot).empty) is not None:
        click.echo(f"pathlab: figure '{name}' is empty: {reason}", err=True)
    click.echo(str(path))


def _list_figures(inputs: ReportInputs) -> Iterator[LazyPlot]:
    yield from chapters.list_lazy_plots(inputs)
    yield from trials.list_trial_plots(inputs)


def _check_no_options(out: Path | None, style: Path | None, look: FigureLook) -> None:
    for option in (*(["--out"] if out is not None else ()), *_list_options(style, look)):
        raise UsageError(
            f"'--figure {LIST}' writes no file, so it takes no {option}", hint=f"leave {option} out"
        )


def _list_options(style: Path | None, look: FigureLook) -> Iterator[str]:
    """The options of the look that were given."""
    chosen = {
        "--style": style is not None,
        "--size": look.size_inch is not None,
        "--title": look.title is not None,
        "--label": bool(look.labels),
    }
    yield from (option for option, given in chosen.items() if given)


def _unknown(inputs: ReportInputs, name: str) -> UsageError:
    names = [*(lazy.name for lazy in _list_figures(inputs)), "trial-1"]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    meant = f"; did you mean {' or '.join(repr(item) for item in near)}?" if near else ""
    return UsageError(f"there is no figure '{name}'{meant}", hint="'--figure list' names all of them")


def _format_range(stored: StudiedResults) -> str:
    numbers = stored.trials()["trial_id"]
    return f"from {numbers.min()} to {numbers.max()}" if len(numbers) else "none stored yet"


def place_figure(name: str, formats: Sequence[str], out: Path | None) -> Path | None:
    """The file of a figure in the format named: ``out``, which has to end so, else NAME.FORMAT here.

    Raises UsageError for several formats, one that no figure has, or another ending.
    """
    if name == LIST:
        raise UsageError(
            f"'--figure {LIST}' writes no file, so it takes no --format", hint="leave --format out"
        )
    form, *others = dict.fromkeys(formats)
    if others:
        raise UsageError("a figure has one format", hint=f"give one: {', '.join(FIGURE_FORMS)}")
    if form not in FIGURE_FORMS:
        raise UsageError(f"a figure cannot be {form}", hint=f"give one of {', '.join(FIGURE_FORMS)}")
    if out is None:
        return Path(f"{name}.{form}")
    if out.suffix.lower() != f".{form}":
        raise UsageError(
            f"--out: '{out}' does not end in .{form}, and --format says {form}", hint="leave --format out"
        )
    return out
