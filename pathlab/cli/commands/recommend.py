"""Say what results recommend: streams and window, or for messages the transport."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from pathlab.cli.declaration import RESULTS, declare, json_flag, option
from pathlab.cli.deferred import DeferredImports
from pathlab.cli.values import ParsedNumber
from pathlab.errors import ExitStatus, NotMeasurable, UsageError
from pathlab.units import format_bytes, parse_bytes, parse_frequency_per_s, parse_time_ns

with DeferredImports() as libraries:
    import json

    from rich.console import Console

    from pathlab.cli.console import TerminalConsole
    from pathlab.cli.outcome import check_usable_trials
    from pathlab.printed_table import PrintedParagraph
    from pathlab.report.base.answer_table import format_row, print_answers
    from pathlab.report.base.phrases import explain_cut_texts
    from pathlab.report.datagrams.datagram_answers import list_other_recommendations
    from pathlab.report.formats.terminal import CUT_EXPLANATION, render_answers
    from pathlab.report.messages.message_text import (
        CHOICE_COLUMNS,
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


DOCUMENT, DOCUMENT_VERSION = "pathlab-recommendation", 1
#: What to do where technologies were asked one request after the other, and where no messages were sent.
OFFER_FIRST = (
    "add factors.message_rate to the campaign, or compare: pathlab analyze RESULTS --only technologies"
)
LEAVE_OUT = "leave --rate, --size and --p99 out to see what these results recommend"


def recommend_setup(
    results: Path, *, rate_per_s: int | None, size_bytes: int | None, p99_ns: int | None, as_json: bool
) -> int:
    """Say what RESULTS recommend: streams and window, or for messages transport and batching.

    For messages, --rate and --p99 name the transport and batching that carries them with the least CPU time,
    for each size that was measured; RESULTS then have round trips at several offered rates, such as those of
    the campaign relay-latency. Without these options, messages have a list of the highest rates and the p99
    that each costs (Pareto front). Status 6: nothing meets the targets, on some path or for some size.
    """
    if (rate_per_s is None) != (p99_ns is None):
        lacking = "--p99" if p99_ns is None else "--rate"
        raise UsageError(f"{lacking} is missing", hint="give both --rate and --p99, or neither of them")
    libraries.load()
    with StudiedResults.open(results, hold=True) as stored:
        measured = list_measured_sizes(stored.study_table())
        if not measured and (rate_per_s or size_bytes):
            hint = OFFER_FIRST if stored.technology_paths() else f"{LEAVE_OUT}; {MEASURE_FIRST}"
            raise UsageError("no trial timed replies to messages at an offered rate", hint=hint)
        if size_bytes is not None:
            check_size(size_bytes, measured)
        sizes = measured if size_bytes is None else (size_bytes,)
        if rate_per_s is None or p99_ns is None:
            why = f"`pathlab results show {results}` says why"
            _show_stored(stored, sizes, why, as_json=as_json)
            check_usable_trials(stored.records(), why)
            return ExitStatus.DONE
        choices = tuple(
            choice
            for size in sizes
            for choice in choose_setups(
                stored.study_table(),
                MessageTarget(rate_per_s=rate_per_s, size_bytes=size, p99_ns=p99_ns),
            )
        )
    _show_choices(choices, as_json=as_json)
    return ExitStatus.DONE if all(choice.recommended for choice in choices) else ExitStatus.FOUND


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
        print_answers(CHOICE_COLUMNS, rows, title if len(sizes) > 1 else name_path(choice), console)
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
        print_answers(entry.columns[1:], rows, f"{path}, {format_bytes(size_bytes)}", console)
        _explain_cut([describe_front(part)], rows, console)
        console.print()


def _explain_cut(sentences: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    """Print what a cut interval is where these have one."""
    if note := explain_cut_texts([*sentences, *(text for row in rows for text in row)]):
        console.print(PrintedParagraph(note, "dim", mark="  "))


def _print_document(content: dict[str, Any]) -> None:
    whole = {"document": DOCUMENT, "version": DOCUMENT_VERSION, **content}
    click.echo(json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=1))


def _target(parse: Callable[[str], int]) -> ParsedNumber:
    """The type of an option that names a target: a quantity above 0."""

    def read(text: str) -> int:
        if not (value := parse(text)):
            raise UsageError("0 is not a target", hint="name a value above 0")
        return value

    return ParsedNumber(read)


command = declare(
    "recommend",
    recommend_setup,
    RESULTS,
    option(
        "--rate",
        "rate_per_s",
        type=_target(parse_frequency_per_s),
        metavar="RATE",
        help="Messages per second to carry, such as 5000, 5k or 1M.",
    ),
    option(
        "--size",
        "size_bytes",
        type=_target(parse_bytes),
        metavar="SIZE",
        help="Size of a message, such as 64B; default: each size.",
    ),
    option(
        "--p99",
        "p99_ns",
        type=_target(parse_time_ns),
        metavar="TIME",
        help="Longest 99th percentile of the round trips, such as 50us.",
    ),
    json_flag("Print JSON."),
)
