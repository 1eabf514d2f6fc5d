"""Whether what a host sends can be used: each record against its schema, all of them against a size."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pathlab.remote.record_rules import ObjectRule, RecordFault, Stated, measure_value
from pathlab.remote.record_schema import ANSWERS, RECORDS, SAMPLE

#: Values that a program may state, whatever it was asked for: some 200 MB.
SPARE_VALUES = 5_000_000
#: Values that a stream may add with each interval: every counter, and those of nine subflows.
STREAM_VALUES = 256
#: Where no interval or length was requested.
USUAL_INTERVAL_NS, LONGEST_S = 1_000_000_000, 3600.0
#: Values of samples per second: 25,000, as of 500 interfaces with their queues, ten times a second.
SAMPLE_VALUES_PER_S = 250_000


class RecordChecker:
    """Checks the records of one program, in the order in which they come.

    ``kind`` is a key of ``RECORDS``; of a program that is none of them every record is known. ``streams`` is
    how many were requested, None: as the program states. ``interval_ns`` and ``seconds`` bound how many
    records can come.
    """

    def __init__(
        self,
        kind: str,
        *,
        streams: int | None = None,
        interval_ns: int | None = None,
        seconds: float | None = None,
    ) -> None:
        self.kind = kind
        self._types: Mapping[str, ObjectRule] | None = RECORDS.get(kind)
        self._stated = Stated(streams=streams)
        intervals = (seconds or LONGEST_S) * 1e9 / (interval_ns or USUAL_INTERVAL_NS)
        self._left = SPARE_VALUES + round(intervals * (streams or 1) * STREAM_VALUES)

    def check(self, record: Mapping[str, Any]) -> bool:
        """Whether the record is of a known type. RecordFault for one that breaks the schema."""
        self._left -= measure_value(record)
        if self._left < 0:
            raise RecordFault("its records have more values than what was requested can have")
        kind = record.get("type")
        if not isinstance(kind, str):
            raise RecordFault("a record has no type")
        if self._types is None:
            return True
        table = self._types.get(kind)
        if table is None:
            return False
        try:
            table.check(record, self._stated)
        except RecordFault as fault:
            raise fault.inside(kind) from None
        return True


class SampleChecker:
    """Checks the samples of one series of counters."""

    def __init__(self) -> None:
        self._begun_s = time.monotonic()
        self._spent = 0

    def check(self, sample: Mapping[str, Any]) -> None:
        """RecordFault for a sample that breaks the schema, or where all of them are too large."""
        self._spent += measure_value(sample)
        seconds = time.monotonic() - self._begun_s
        if self._spent > SPARE_VALUES + seconds * SAMPLE_VALUES_PER_S:
            raise RecordFault("the samples have more values than any host counts")
        SAMPLE.check(sample, Stated())


def find_answer_fault(operation: str, result: Mapping[str, Any]) -> str | None:
    """What is wrong with the result of a request; None where it can be used."""
    try:
        measure_value(result)
        table = ANSWERS.get(operation)
        if table is not None:
            table.check(result, Stated())
    except RecordFault as fault:
        return str(fault)
    return None
