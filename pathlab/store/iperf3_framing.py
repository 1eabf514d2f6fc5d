"""Which JSON values are iperf3's outputs: whole objects, or the events of ``--json-stream``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, kw_only=True)
class Output:
    """One test's output, and how many keys came twice in it."""

    value: dict[str, Any]
    repeated: int = 0


def is_output(value: Any) -> bool:
    """Whether a JSON value has the shape of iperf3's output."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("start"), dict)
        and ("intervals" in value or "end" in value)
        and "connected" in value["start"]
    ) or (
        isinstance(value, dict) and set(value) <= {"start", "intervals", "end", "error"} and "error" in value
    )


def is_event(value: Any) -> bool:
    """Whether a JSON value is a line of ``--json-stream``."""
    return isinstance(value, dict) and isinstance(value.get("event"), str)


def is_of_iperf3(value: Any) -> bool:
    """Whether a JSON value is an output or an event."""
    return is_output(value) or is_event(value)


def join_outputs(values: Iterable[tuple[Any, int]]) -> list[Output] | None:
    """Every test in a row of JSON values (each with its number of repeated keys), None for something else.

    ``--json-stream`` writes a test as events; with ``--json-stream-full-output`` (iperf3 3.18 and later) its
    whole output follows the last one, which is the same test. A server writes one test after the other.
    """
    outputs: list[Output] = []
    current: Output | None = None
    for value, repeated in values:
        if is_event(value):
            name, data = value["event"], value.get("data")
            if current is None or (name == "start" and current.value != {"intervals": []}):
                current = Output(value={"intervals": []})
                outputs.append(current)
            current.repeated += repeated
            if name == "interval":
                current.value["intervals"].append(data)
            else:
                current.value[name] = data
        elif is_output(value):
            if current is not None and _is_same_test(current.value, value):
                if len(value.get("intervals") or ()) >= len(current.value["intervals"]):
                    current.value = value
            else:
                outputs.append(Output(value=value, repeated=repeated))
            current = None
        else:
            return None
    known = [output for output in outputs if "start" in output.value or "error" in output.value]
    return known or None


def _is_same_test(streamed: dict[str, Any], whole: dict[str, Any]) -> bool:
    if "start" not in streamed:
        return streamed.get("error") == whole.get("error")
    ours, theirs = streamed["start"], whole.get("start")
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return False
    return ours == theirs or (ours.get("cookie") is not None and ours.get("cookie") == theirs.get("cookie"))
