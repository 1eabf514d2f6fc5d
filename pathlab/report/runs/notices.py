"""Warnings: missing trials, and trials that did not measure the path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.report.base.blocks import Notice
from pathlab.report.base.names import enumerate_cells, format_utc
from pathlab.report.base.phrases import format_count
from pathlab.report.messages.message_scope import (
    format_all_combinations,
    list_message_levels,
    list_message_paths,
    locate_messages,
)
from pathlab.store.flags import NOT_GRANTED, Flag, FlagNotice
from pathlab.study.analyses import Analyses
from pathlab.study.base.cells import Cell, MeasuredCondition
from pathlab.study.runs.progress import describe_busy_hosts, describe_left_out, find_warnings
from pathlab.units import format_bytes

#: Most paths that a warning names; of more it gives the number.
PATHS_NAMED = 3


def list_notices(study: Analyses) -> tuple[Notice, ...]:
    """Every warning of a campaign, those on its validity first."""
    result = [*_check_run(study)]
    scopes: list[tuple[str, tuple[MeasuredCondition, ...]]]
    scopes = [
        (condition.name, (condition,)) for condition in study.conditions() if not condition.key.is_of_messages
    ]
    scopes += [(group[0].path, group) for group in list_message_paths(study.conditions())]
    names: dict[Notice, list[str]] = {}
    for name, group in scopes:
        if any(item.measured_cells for item in group):
            for notice in _check_conditions(group):
                names.setdefault(notice, []).append(name)
    result += [replace(notice, path=_join(paths, len(scopes))) for notice, paths in names.items()]
    return tuple(result)


def _join(paths: list[str], known: int) -> str | None:
    """The paths of a warning: None where it is every path of several."""
    if len(paths) == known > 1:
        return None
    return "; ".join(paths) if len(paths) <= PATHS_NAMED else f"{len(paths)} paths"


def _check_run(study: Analyses) -> Iterator[Notice]:
    counts = study.count_trials()
    if fallback := study.study_source.campaign.environment.get("fallback"):
        reason = str(fallback).strip().rstrip(".")
        yield Notice(
            kind="fallback",
            short=f"Loopback fallback: {reason}. The numbers describe this machine alone and no network.",
        )
    for begun_utc, result in describe_busy_hosts(study.study_source.journal()):
        yield Notice(
            kind="busy", short=f"Hosts were busy when the run began ({format_utc(begun_utc)}): {result}."
        )
    left_out = describe_left_out(study.study_source.journal())
    if left_out is not None:
        yield Notice(kind="left-out", short=f"{left_out}.")
    if not counts.complete:
        yield Notice(kind="empty", short="No trial completed, so there are no measurements to show.")
    if counts.failed:
        yield Notice(
            kind="failures",
            short=f"{counts.failed} of {counts.complete + counts.failed + counts.interrupted} trials failed "
            f"(stage: {', '.join(counts.stages)}).",
            details="They are listed with their reasons and are in no figure.",
        )
    if counts.interrupted:
        count = format_count(counts.interrupted, "trial")
        verb = "was" if counts.interrupted == 1 else "were"
        yield Notice(
            kind="interrupted",
            short=f"{count} {verb} interrupted.",
            details="Interrupted trials are in no figure.",
        )
    if counts.missing:
        yield Notice(
            kind="partial",
            short=f"{counts.missing} of {counts.planned} planned trials have no result.",
            fix="'pathlab run' on the same campaign measures them.",
        )


def _check_conditions(conditions: tuple[MeasuredCondition, ...]) -> Iterator[Notice]:
    """Every warning on a condition, or on those of the messages of a path; without the path."""
    result, locate = find_warnings(*conditions), _locate
    if conditions[0].key.is_of_messages:
        locate = partial(locate_messages, list_message_levels(conditions))
    for flag in Flag:
        if flag.notice is not None and flag.notice.of_most and flag in result.mostly:
            yield _make_notice(flag, flag.notice, locate(result.mostly[flag], result.cells))
    if result.short:
        yield Notice(
            kind="window-not-granted",
            short=f"{locate(result.short, result.cells)} the kernel granted less than the window requested "
            f"(least grant: {format_bytes(result.least_granted_bytes)}, of which Linux uses half).",
            fix="Raise net.core.rmem_max and net.core.wmem_max on both hosts; 'pathlab doctor' shows them.",
        )
    for name, cells in result.partly.items():
        where = locate(cells, result.cells)
        known = next((flag for flag in Flag if flag == name), None)
        if known is not None and known.notice is not None and not known.notice.of_most:
            yield _make_notice(known, known.notice, where)
        elif name.endswith(NOT_GRANTED):
            setting = name.removesuffix(NOT_GRANTED).replace("-", " ")
            yield Notice(
                kind=name, short=f"{where} an end did not grant the {setting} requested (see its settings)."
            )
    if result.too_few:
        which = "The combination has" if len(result.cells) == 1 else "Some combinations have"
        if len(result.cells) > 1 and result.evenly_few:
            which = "All combinations have"
        yield Notice(
            kind="small-sample",
            short=f"{which} only {format_count(result.least_trials, 'trial')}; a 95 % confidence interval "
            f"needs {median_interval_minimum()}.",
            details="Differences are shown but not tested.",
        )


def _make_notice(flag: Flag, notice: FlagNotice, where: str) -> Notice:
    short = notice.short.format(where=where, within=where[:1].lower() + where[1:])
    return Notice(kind=flag, short=short, details=notice.details, fix=notice.fix)


def _locate(result: Sequence[Cell], cells: Sequence[Cell]) -> str:
    """``In both combinations``, ``With 4 × 64 KiB``."""
    if len(result) == len(cells) > 1:
        return format_all_combinations(len(cells))
    return f"With {enumerate_cells((cell.streams, cell.window_bytes) for cell in result)}"
