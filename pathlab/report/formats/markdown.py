"""The report as Markdown (CommonMark, tables as on GitHub); its figures are SVG and CSV files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathlab.escaping import escape_controls
from pathlab.report.blocks import (
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
    """Write the text to ``out`` and each figure, with its numbers, into ``figures_folder(out)`` beside it.

    Returns the path of the text. Raises StoreError where one of them cannot be written.
    """
    folder = figures_folder(out)
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
    lines += [f"- {escape_markdown(section.title)}" for section in report.sections]
    lines.append("")
    for section in report.sections:
        lines += _write_section(section, figures)
    return escape_controls("\n".join([*lines, "---", "", escape_markdown(report.footer), ""]))


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    line = " ".join(text.split())
    return _NUMBERED.sub(r"\1\\\2", _MARKED.sub(r"\\\1", line))


def _write_section(section: Section, figures: str) -> list[str]:
    return [f"## {escape_markdown(section.title)}", "", *_write_blocks(section.blocks, figures)]


def _write_blocks(blocks: Sequence[Block], figures: str) -> Iterator[str]:
    for block in blocks:
        match block:
            case Paragraph():
                text = escape_markdown(block.text)
                yield from (f"**{text}**" if block.lead else text, "")
            case Subheading():
                yield from (f"### {escape_markdown(block.text)}", "")
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
                yield from (f"#### {escape_markdown(block.title)}", "")
                yield from _write_table(block)
                if block.note:
                    yield from (escape_markdown(block.note), "")
            case Plot():
                yield from _write_figure(block, figures)
            case Fold():
                yield from (f"### {escape_markdown(block.title)}", "")
                yield from _write_blocks(block.blocks, figures)


def _write_figure(plot: Plot, figures: str) -> Iterator[str]:
    ready = prepare_plot(plot)
    yield from (f"#### {escape_markdown(f'{plot.title} ({plot.condition})')}", "")
    if ready.empty is not None:
        yield from (f"Not drawn: {escape_markdown(ready.empty)}", "")
    else:
        yield from (f"![{escape_markdown(plot.title)}]({figures}/{plot.name}.svg)", "")
    if ready.sentence:
        yield from (escape_markdown(ready.sentence), "")
    if ready.empty is None:
        yield from (f"[Data (CSV)]({figures}/{plot.name}.csv)", "")


def _write_table(table: TableBlock) -> Iterator[str]:
    yield _row([heading.label for heading in table.headings])
    yield "|" + "|".join("---:" if numeric else "---" for numeric in table.numeric) + "|"
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
