"""Every key that the engine writes is in native/records.toml."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, is_typeddict

import pytest

from pathlab.remote.engine_records import ENGINE_RECORDS, FURTHER
from tests.native.engine import MS, Ending, Flag, carry, run
from tests.native.pinging import echoing, end_echo, udp_flags
from tests.require import require_engine

pytestmark = pytest.mark.engine

#: The flags of both ends, and those of the sender.
FLOWS: dict[str, tuple[dict[str, Flag], dict[str, Flag]]] = {
    "streams": ({"streams": 2, "tcp_info": "raw"}, {}),
    "both": ({"direction": "both"}, {}),
    "messages": ({}, {"message_bytes": 64, "messages_per_s": 1000, "batch_bytes": 512}),
    "replies": ({}, {"message_bytes": 64, "encoding": "protobuf", "reply": "yes"}),
    "datagrams": ({"transport": "udp", "ecn": 0}, {"datagram_bytes": 500, "packets_per_s": 1000}),
}


def list_unlisted(value: Any, kind: Any, name: str) -> Iterator[str]:
    """The keys that a type does not have."""
    parts = get_args(kind)
    if value is None:
        return
    if get_origin(kind) in (NotRequired, Annotated, Union, types.UnionType):
        yield from list_unlisted(value, parts[0], name)
    elif is_typeddict(kind):
        fields = dict(kind.__annotations__)
        for key, item in value.items():
            if key in fields or kind in FURTHER:
                yield from list_unlisted(item, fields.get(key), f"{name}.{key}")
            else:
                yield f"{name}.{key}"
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from list_unlisted(item, parts[-1] if parts else None, name)


def check_keys(program: str, ending: Ending) -> None:
    kinds = ENGINE_RECORDS[program]
    assert ending.records
    found = [list_unlisted(record, kinds[record["type"]], record["type"]) for record in ending.records]
    assert sorted({key for keys in found for key in keys}) == []


@pytest.mark.parametrize("kind", FLOWS)
def test_flows_write_what_the_table_has(kind: str) -> None:
    require_engine()
    both, sender = FLOWS[kind]
    ends = carry(receiver_flags=both, sender_flags={**both, **sender})
    for program, ending in zip(("receive", "send"), ends, strict=True):
        check_keys(program, ending)


def test_probes_and_calibration_write_what_the_table_has() -> None:
    require_engine()
    with echoing() as (echo, port):
        check_keys("ping", run("ping", **udp_flags(port, count=3, interval_ns=MS)))
        end_echo(echo)
    check_keys("calibrate", run("calibrate", streams=1, duration_ns=100 * MS, timer_count=5))
    check_keys("load", run("load", cpu=1, time_limit_ns=100 * MS, interval_ns=20 * MS))
