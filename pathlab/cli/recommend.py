"""``pathlab recommend RESULTS``: what the results recommend; of messages, for a rate and a latency."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from pathlab.cli.console import TerminalConsole
from pathlab.cli.unusable import check_usable_trials
from pathlab.errors import ExitStatus, NotMeasurable, UsageError
from pathlab.printed_table import PrintedParagraph
from pathlab.report.base.answer_table import format_row, list_headings, print_answers
from pathlab.report.base.phrases import explain_cut_texts
from pathlab.report.datagrams.datagram_answers import list_other_recommendations
from pathlab.report.formats.terminal import CUT_EXPLANATION, render_answers
from pathlab.report.messages.message_text import (
    CHOICE_HEADINGS,
    describe_choice,
    describe_front,
    list_choice_rows,
    name_path,
)
from pathlab.report.topics import describe_topics
from pathlab.study.analyses import StudiedResults
from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import ANALYSES
from pathlab.study.document import encode
from pathlab.study.messages.message_choice import (
    MEASURE_FIRST,
    FrontPoint,
    MessageChoice,
    MessageTarget,
    check_size,
    choose_setups,
    list_measured_sizes,
)
from pathlab.units import format_bytes, parse_bytes, parse_frequency_per_s, parse_time_ns

DOCUMENT, DOCUMENT_VERSION = "pathlab-recommendation", 1
#: What to do where technologies were asked one request after the other, and where no messages were sent.
OFFER_FIRST = (
    "add factors.message_rate to the campaign, or compare: pathlab analyze RESULTS --only technologies"
)
LEAVE_OUT = "leave --rate, --size and --p99 out to see what these results recommend"


def recommend_setup(
    results: Path, *, rate: str | None, size: str | None, p99: str | None, as_json: bool
) -> int:
    """Print what to use for the targets; without them whatever the results recommend.

    The exit status says whether something meets the targets, for each path and size. Raises NotMeasurable
    where the results recommend nothing, and, after what they show, where no trial is usable.
    """
    with StudiedResults.open(results, hold=True) as stored:
        measured = list_measured_sizes(stored.study_table())
        if not measured and (rate or size):
            hint = OFFER_FIRST if stored.technology_paths() else f"{LEAVE_OUT}; {MEASURE_FIRST}"
            raise UsageError("no trial timed replies to messages at an offered rate", hint=hint)
        sizes = measured if size is None else _choose_size(size, measured)
        if rate is None or p99 is None:
            why = f"`pathlab results show {results}` says why"
            _show_stored(stored, sizes, why, as_json=as_json)
            check_usable_trials(stored.records(), why)
            return ExitStatus.DONE
        choices = tuple(
            choice
            for size_bytes in sizes
            for choice in choose_setups(
                stored.study_table(),
                MessageTarget(
                    rate_per_s=parse_frequency_per_s(rate),
                    size_bytes=size_bytes,
                    p99_ns=parse_time_ns(p99),
                ),
            )
        )
    _show_choices(choices, as_json=as_json)
    return ExitStatus.DONE if all(choice.recommended for choice in choices) else ExitStatus.FOUND


def _choose_size(given: str, measured: Sequence[int]) -> tuple[int, ...]:
    """The size asked for. UsageError for one that was not measured."""
    size_bytes = parse_bytes(given)
    check_size(size_bytes, measured)
    return (size_bytes,)


def _show_stored(stored: StudiedResults, sizes: Sequence[int], why: str, *, as_json: bool) -> None:
    """Print what the results recommend: of messages at offered rates the front, else what a report says."""
    points = [item for item in stored.message_front() if item.result.message_bytes in sizes]
    answers = () if points else list_other_recommendations(stored)
    if as_json:
        _print_document({"front": encode(tuple(points)), "recommendations": encode(tuple(answers))})
    elif points:
        _show_front(points)
    elif topics := list(describe_topics(stored)):
        console = TerminalConsole()
        render_answers(topics, console)
        if explain_cut_texts([text for answer in topics for text in (answer.lead, *answer.remarks)]):
            console.print(PrintedParagraph(CUT_EXPLANATION, "dim"))
    else:
        raise NotMeasurable(f"'{stored.path}' recommends nothing: no trial completed", hint=why)


def _show_choices(choices: tuple[MessageChoice, ...], *, as_json: bool) -> None:
    if as_json:
        _print_document({"choices": [encode(choice) for choice in choices]})
        return
    console = TerminalConsole()
    paths, sizes = {name_path(item) for item in choices}, {item.target.size_bytes for item in choices}
    for number, choice in enumerate(choices):
        if number:
            console.print()
        lead, *rest = describe_choice(choice)
        named = [name_path(choice)] if len(paths) > 1 else []
        named += [f"{format_bytes(choice.target.size_bytes)} messages"] if len(sizes) > 1 else []
        where = f"{', '.join(named)}: " if named else ""
        console.print(PrintedParagraph(where + lead, "bold"))
        for line in rest:
            console.print(PrintedParagraph(line, mark="  "))
        console.print()
        rows = list_choice_rows(choice)
        title = f"{name_path(choice)}, {format_bytes(choice.target.size_bytes)}"
        print_answers(CHOICE_HEADINGS, rows, title if len(sizes) > 1 else name_path(choice), console)
        _explain_cut([lead, *rest], rows, console)


def _show_front(points: Sequence[Answer[FrontPoint]]) -> None:
    console: Console = TerminalConsole()
    entry = ANALYSES["message_front"]
    groups: dict[tuple[str, int], list[Answer[FrontPoint]]] = {}
    for point in points:
        groups.setdefault((name_path(point.condition), point.result.message_bytes), []).append(point)
    for (path, size_bytes), part in groups.items():
        console.print(PrintedParagraph(describe_front(part), "bold"))
        rows = [format_row(entry, item)[1:] for item in part]
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
