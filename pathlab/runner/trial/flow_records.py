"""The records of one end of a flow by their types; they were checked when they arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, cast

from pathlab.engines.base import Record, first
from pathlab.remote.engine_records import FlowInterval, FlowPhase, FlowReady, FlowResult
from pathlab.store.flags import Phase


class EndPhase(FlowPhase):
    """A phase of one end, with what engines add to a record of the native one."""

    spans_ns: NotRequired[list[int | None]]  # the length of each stream's own phase, of several receivers
    user_ns: NotRequired[int | None]  # CPU time of a technology's program
    system_ns: NotRequired[int | None]


def find_ready(records: Sequence[Record]) -> FlowReady | None:
    """What an end stated when all of its streams were admitted; None where it did not."""
    return cast("FlowReady | None", first(records, "ready"))


def find_result(records: Sequence[Record]) -> FlowResult | None:
    """What an end stated at its end; None where it did not."""
    return cast("FlowResult | None", first(records, "result"))


def find_phase(records: Sequence[Record], name: Phase) -> EndPhase | None:
    """A phase of an end's result; of a trial that ended early, only what its result states."""
    phases = (first(records, "result") or {}).get("phases", {})
    return cast("EndPhase | None", phases.get(name))


def list_intervals(records: Sequence[Record]) -> list[FlowInterval]:
    """The intervals of an end, in order."""
    return cast("list[FlowInterval]", [record for record in records if record.get("type") == "interval"])
