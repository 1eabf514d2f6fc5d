"""The report as Markdown (CommonMark, tables as on GitHub); its figures are SVG and CSV files next to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathlab.errors import StoreError
from pathlab.escaping import escape_controls
from pathlab.report.base.blocks import (
    Block,
    Bullets,
    Facts,
    Fold,
    Paragraph,
    Preformatted,
    Report,
    Section,
    Subheading,
    TableBlock,
    group_sections,
    list_figures,
)
from pathlab.report.formats.output_file import write_whole
from pathlab.report.plots.export import write_csv
from pathlab.report.plots.model import Plot
from pathlab.report.plots.preparation import prepare_plot
from pathlab.report.plots.printed import render_svg

ROWS_SHOWN = 100
#: Markup of Markdown anywhere; links of GitHub; the start of a list or of a rule.
_MARKED = re.compile(r"([\\`*_\[\]<>#|&~]|(?<=:)/(?=/)|(?<=\bwww)\.|^[-+=](?=[-+=\s]|$))")
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def write_markdown(report: Report, out: Path) -> Path:
    """Write the text to ``out`` and each figure, with its numbers, into ``figures_folder(out)`` alongside it.

    Returns the path of the text. Raises StoreError where one of them cannot be written.
    """
    folder = figures_folder(out)
    if folder.is_symlink():
        raise StoreError(
            f"the folder of figures '{folder}' is a symbolic link, through which nothing is written",
            hint="remove it, or name another file with --out",
        )
    for number, plot in enumerate(list_figures(report), start=1):
        if plot.empty is None:
            drawn = render_svg(plot, f"f{number}", titled=True, alone=True)
            write_whole(folder / f"{plot.name}.svg", drawn.encode())
            write_whole(folder / f"{plot.name}.csv", write_csv(prepare_plot(plot)).encode())
    return write_whole(out, render_markdown(report, folder.name).encode())


def figures_folder(out: Path) -> Path:
    """The folder for the figures of a Markdown report: ``report-figures`` for ``report.md``."""
    return out.with_name(f"{out.stem}-figures")


def render_markdown(report: Report, figures: str) -> str:
    """The text; its figures are in the folder ``figures``."""
    lines = [f"# {escape_markdown(report.title)}", "", escape_markdown(" · ".join(report.facts)), ""]
    lines += _write_section(report.opening, figures)
    for notice in report.notices:
        where = f"{notice.path}: " if notice.path else ""
        lines += [f"> **Warning.** {escape_markdown(where + notice.text)}", ""]
    lines += ["## Contents", ""]
    groups = group_sections(report)
    lines += [
        f"- {escape_markdown(title)}"
        for question, sections in groups
        for title in ([question] if question else [section.title for section in sections])
    ]
    lines.append("")
    for question, sections in groups:
        if question:
            lines += [f"## {escape_markdown(question)}", ""]
        for section in sections:
            lines += _write_section(section, figures, depth=3 if question else 2)
    return escape_controls("\n".join([*lines, "---", "", escape_markdown(report.footer), ""]))


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    line = " ".join(text.split())
    return _NUMBERED.sub(r"\1\\\2", _MARKED.sub(r"\\\1", line))


def _write_section(section: Section, figures: str, depth: int = 2) -> list[str]:
    """The lines of a chapter whose heading has that ``depth``."""
    return [_write_heading(section.title, depth), "", *_write_blocks(section.blocks, figures, depth + 1)]


def _write_heading(text: str, depth: int) -> str:
    return f"{'#' * depth} {escape_markdown(text)}"


def _write_blocks(blocks: Sequence[Block], figures: str, depth: int) -> Iterator[str]:
    for block in blocks:
        match block:
            case Paragraph():
                text = escape_markdown(block.text)
                yield from (f"**{text}**" if block.lead else text, "")
            case Subheading():
                yield from (_write_heading(block.text, depth), "")
            case Bullets():
                yield from (f"- {escape_markdown(text)}" for text in block.items)
                yield ""
            case Facts():
                yield from (
                    f"- **{escape_markdown(label)}**: {escape_markdown(text)}" for label, text in block.items
                )
                yield ""
            case Preformatted():
                fence = _find_fence(block.text)
                yield from (f"{fence}text", block.text.rstrip("\n"), fence, "")
            case TableBlock():
                yield from (_write_heading(block.title, depth + 1), "")
                yield from _write_table(block.narrow())
                if block.note:
                    yield from (escape_markdown(block.note), "")
            case Plot():
                yield from _write_figure(block, figures, depth + 1)
            case Fold():
                yield from (_write_heading(block.title, depth), "")
                yield from _write_blocks(block.blocks, figures, depth)


def _write_figure(plot: Plot, figures: str, depth: int) -> Iterator[str]:
    ready = prepare_plot(plot)
    yield from (_write_heading(f"{plot.title} ({plot.condition})", depth), "")
    if ready.empty is not None:
        yield from (f"Not drawn: {escape_markdown(ready.empty)}", "")
    else:
        yield from (f"![{escape_markdown(plot.title)}]({figures}/{plot.name}.svg)", "")
    if ready.sentence:
        yield from (escape_markdown(ready.sentence), "")
    if ready.empty is None:
        yield from (f"[Data (CSV)]({figures}/{plot.name}.csv)", "")


def _write_table(table: TableBlock) -> Iterator[str]:
    yield _row([column.heading for column in table.columns])
    yield "|" + "|".join("---" if column.has_words else "---:" for column in table.columns) + "|"
    for row in table.rows[:ROWS_SHOWN]:
        yield _row(row)
    yield ""
    if len(table.rows) > ROWS_SHOWN:
        rest = f"The first {ROWS_SHOWN} of {len(table.rows)} rows; all of them: --format json"
        yield from (escape_markdown(rest), "")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape_markdown(cell) for cell in cells) + " |"


def _find_fence(text: str) -> str:
    """A fence longer than any run of backticks within."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)
