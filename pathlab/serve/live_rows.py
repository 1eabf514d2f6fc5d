"""A trial of explored results as the page adds it to its table."""

from __future__ import annotations

from typing import Any

from pathlab.study.exploration.explored_results import ExploredResults


def describe_row(results: ExploredResults, row: int) -> dict[str, Any]:
    """The values of a trial by column, in the columns' units; what was not measured is left out.

    ``flags`` holds the names of its flags, ``reason`` why it does not count, None where it does.
    """
    bits, code = int(results.flag_bits[row]), int(results.reason_codes[row])
    return {
        **results.read_row(row),
        "flags": [name for index, name in enumerate(results.flags) if bits >> index & 1],
        "reason": None if code < 0 else results.reasons[code],
    }
