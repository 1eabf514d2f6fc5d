"""Several links: gains over the best link, shares of members, streams for a hash, round trips, failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from pathlab.analysis.planning.hash_streams import HashFields
from pathlab.report.base.answer_tables import build_answer_table, format_note
from pathlab.report.base.blocks import Block, Bullets, Question
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.lazy import LazyBlock, LazyPlot, LazySection, lazy_text
from pathlab.report.base.phrases import format_count
from pathlab.report.base.summary import group_answer
from pathlab.report.base.topic import Topic
from pathlab.report.messages.message_text import name_path
from pathlab.report.multipath.multipath_figures import draw_chances, draw_gains, draw_shares
from pathlab.report.multipath.multipath_remarks import describe_statements
from pathlab.report.multipath.multipath_table import build_multipath_table
from pathlab.report.multipath.multipath_text import describe_multipath, list_bond_views
from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import ANALYSES
from pathlab.study.base.selection import choose_evenly
from pathlab.study.base.trials import Condition
from pathlab.study.multipath.bond_cells import is_multipath
from pathlab.study.multipath.bond_counters import has_reordering
from pathlab.study.multipath.member_shares import MemberShares
from pathlab.units import format_bytes, format_window

#: Rows of one figure of shares.
ROWS_MAX = 24
#: Analyses with a table each, in their order.
TABLES = ("multipath", "member_shares", "subflow_shares", "streams_needed", "bond_latency", "failover")
REORDERING_TABLES = ("tcp_reordering", "reordering_thresholds")


def list_opening_multipath(inputs: ReportInputs) -> Iterator[LazyPlot]:
    """What is seen first: the gain of every bond, for each path and setting."""
    for view in list_bond_views(inputs.study) if is_multipath(inputs.study.study_table()) else ():
        yield LazyPlot(
            name=f"multipath-{view.number}",
            title="Gain over the best link alone",
            condition=view.title,
            draw=partial(draw_gains, view),
        )


def _list_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    yield lazy_text(_build_table, inputs, "multipath")
    yield from _list_share_blocks(inputs)
    yield lazy_text(_build_table, inputs, "member_shares")
    needed = inputs.answers("streams_needed")
    by_ports = [answer.result for answer in needed if answer.result.fields is HashFields.PORTS]
    if by_ports:
        yield LazyPlot(
            name="hash-streams-1",
            title="Streams that a good hash needs",
            condition=name_path(needed[0].condition),
            draw=partial(draw_chances, by_ports),
        )
    for name in TABLES[2:]:
        yield lazy_text(_build_table, inputs, name)


def _list_share_blocks(inputs: ReportInputs) -> Iterator[LazyPlot]:
    """The shares of each path, at most ``ROWS_MAX`` rows."""
    paths: dict[Condition, list[Answer[MemberShares]]] = {}
    for answer in inputs.study.member_shares():
        paths.setdefault(answer.condition, []).append(answer)
    for number, (condition, answers) in enumerate(paths.items(), 1):
        rows = [(_name_row(answer, answers), answer.result) for answer in choose_evenly(answers, ROWS_MAX)]
        yield LazyPlot(
            name=f"member-shares-{number}",
            title="Share of each member link",
            condition=_name_traffic(condition),
            draw=partial(draw_shares, rows),
        )


def _name_traffic(condition: Condition) -> str:
    """``west → east (lab), 256 B messages``: figures of one path are of different traffic."""
    size = condition.get("message_bytes")
    return name_path(condition) + (f", {format_bytes(int(size))} messages" if size is not None else "")


def _name_row(answer: Answer[MemberShares], answers: Sequence[Answer[MemberShares]]) -> str:
    texts = [answer.result.name]
    if len({item.streams for item in answers}) > 1:
        texts.append(format_count(answer.streams or 1, "stream"))
    if len({item.window_bytes for item in answers}) > 1:
        texts.append(f"window {format_window(answer.window_bytes)}")
    return ", ".join(texts)


def _build_table(inputs: ReportInputs, name: str) -> Iterator[Block]:
    """The rows of ``pathlab analyze``; nothing without any."""
    entry = ANALYSES[name]
    answers: Sequence[Answer[Any]] = inputs.answers(name)
    if not answers:
        return
    paths = [name_path(answer.condition) for answer in answers]
    yield build_answer_table(
        f"{name.replace('_', '-')}-table",
        entry.title,
        name,
        answers,
        label="path" if len(set(paths)) > 1 else "",
        labels=paths,
        note=format_note(answers, entry),
    )


def _list_reordering_blocks(inputs: ReportInputs) -> Iterator[LazyBlock]:
    if not is_multipath(inputs.study.study_table()):
        yield lazy_text(_state, inputs)
    for name in REORDERING_TABLES:
        yield lazy_text(_build_table, inputs, name)


def _state(inputs: ReportInputs) -> Iterator[Block]:
    if items := tuple(describe_statements(inputs.study)):
        yield Bullets(items=items)


def _find_gap(inputs: ReportInputs) -> str | None:
    several = is_multipath(inputs.study.study_table())
    if several and any(map(inputs.answers, TABLES)):
        return None
    return "it needs trials over several links"


def _find_reordering_gap(inputs: ReportInputs) -> str | None:
    counted = has_reordering(inputs.study.study_table())
    if counted and any(inputs.answers(name) for name in REORDERING_TABLES):
        return None
    return "it needs counters of TCP"


SECTION = LazySection(
    key="multipath",
    title="Several links together",
    find_gap=_find_gap,
    blocks=_list_blocks,
    factors=("bond",),
    of_messages=True,
)
REORDERING = LazySection(
    key="tcp-reordering",
    title="Reordering as TCP sees it",
    find_gap=_find_reordering_gap,
    blocks=_list_reordering_blocks,
    question=Question.COST,
    factors=("tcp_reordering",),
    of_messages=True,
)
TOPIC = Topic(
    key="multipath",
    describe=lambda study: group_answer(describe_multipath(study)),
    tables=build_multipath_table,
    blocks=list_opening_multipath,
    sections=(SECTION, REORDERING),
)
