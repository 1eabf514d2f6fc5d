"""``pathlab recommend RESULTS``: what to carry messages with, for a rate and a latency."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from pathlab.cli.console import TerminalConsole
from pathlab.errors import FOUND_STATUS, UsageError
from pathlab.printed_table import PrintedParagraph
from pathlab.report.answer_table import format_row, list_headings, print_answers
from pathlab.report.message_text import (
    CHOICE_HEADINGS,
    describe_choice,
    describe_front,
    list_choice_rows,
    name_path,
)
from pathlab.report.phrases import explain_cut_texts
from pathlab.study.analyses import StudiedResults
from pathlab.study.answer import Answer
from pathlab.study.document import encode
from pathlab.study.message_choice import (
    MEASURE_FIRST,
    FrontPoint,
    MessageChoice,
    MessageTarget,
    check_size,
    choose_setups,
    list_measured_sizes,
)
from pathlab.study.registry import ANALYSES
from pathlab.units import format_bytes, format_exact_bytes, parse_bytes, parse_frequency_per_s, parse_time_ns

DOCUMENT, DOCUMENT_VERSION = "pathlab-recommendation", 1
#: What to do where technologies were asked one request after the other.
OFFER_FIRST = (
    "add factors.message_rate to the campaign, or compare: pathlab analyze RESULTS --only technologies"
)


def recommend_setup(
    results: Path, *, rate: str | None, size: str | None, p99: str | None, as_json: bool
) -> int:
    """Print what to use for the targets, or without them the front.

    The exit status says whether something meets them.
    """
    with StudiedResults.open(results) as stored:
        sizes = list_measured_sizes(stored.study_table())
        if not sizes:
            hint = OFFER_FIRST if stored.technology_paths() else MEASURE_FIRST
            raise UsageError("no trial timed replies to messages at an offered rate", hint=hint)
        size_bytes = _choose_size(size, sizes, needed=rate is not None)
        if rate is None or p99 is None or size_bytes is None:
            points = [one for one in stored.message_front() if size_bytes in (None, one.result.message_bytes)]
            _show_front(points, as_json=as_json)
            return 0
        target = MessageTarget(
            rate_per_s=parse_frequency_per_s(rate), size_bytes=size_bytes, p99_ns=parse_time_ns(p99)
        )
        choices = choose_setups(stored.study_table(), target)
    _show_choices(choices, as_json=as_json)
    return 0 if all(choice.recommended for choice in choices) else FOUND_STATUS


def _choose_size(given: str | None, sizes: tuple[int, ...], *, needed: bool) -> int | None:
    """The size asked for, or the only one; None: all sizes. UsageError for one that was not measured."""
    if given is None:
        if needed and len(sizes) > 1:
            named = ", ".join(map(format_exact_bytes, sizes))
            raise UsageError(f"messages of {len(sizes)} sizes were measured", hint=f"add --size: {named}")
        return sizes[0] if needed else None
    size_bytes = parse_bytes(given)
    check_size(size_bytes, sizes)
    return size_bytes


def _show_choices(choices: tuple[MessageChoice, ...], *, as_json: bool) -> None:
    if as_json:
        _print_document({"choices": [encode(choice) for choice in choices]})
        return
    console = TerminalConsole()
    for choice in choices:
        lead, *rest = describe_choice(choice)
        where = f"{name_path(choice)}: " if len(choices) > 1 else ""
        console.print(PrintedParagraph(where + lead, "bold"))
        for line in rest:
            console.print(PrintedParagraph(line, mark="  "))
        console.print()
        rows = list_choice_rows(choice)
        print_answers(CHOICE_HEADINGS, rows, name_path(choice), console)
        _explain_cut([lead, *rest], rows, console)


def _show_front(points: list[Answer[FrontPoint]], *, as_json: bool) -> None:
    if as_json:
        _print_document({"front": encode(tuple(points))})
        return
    console: Console = TerminalConsole()
    entry = ANALYSES["message_front"]
    groups: dict[tuple[str, int], list[Answer[FrontPoint]]] = {}
    for one in points:
        groups.setdefault((name_path(one.condition), one.result.message_bytes), []).append(one)
    for (path, size_bytes), part in groups.items():
        console.print(PrintedParagraph(describe_front(part), "bold"))
        rows = [format_row(entry, one)[1:] for one in part]
        print_answers(list_headings(entry)[1:], rows, f"{path}, {format_bytes(size_bytes)}", console)
        _explain_cut([describe_front(part)], rows, console)
        console.print()


def _explain_cut(sentences: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    """Print what a cut interval is where these have one."""
    if note := explain_cut_texts([*sentences, *(text for row in rows for text in row)]):
        console.print(PrintedParagraph(note, "dim", mark="  "))


def _print_document(content: dict[str, Any]) -> None:
    whole = {"document": DOCUMENT, "version": DOCUMENT_VERSION, **content}
    click.echo(json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1))
