"""What programs print for people, which is not read: which program it was, and the option that gives JSON."""

from __future__ import annotations

import re

from pathlab.errors import StoreError
from pathlab.store.json_fields import Document

#: Characters of a text in which its program is looked for.
SEARCHED_CHARS = 1_000_000
_ADDRESS = r"[0-9A-Fa-f.:%]+"
#: What only this program prints, the name of what it is, and what to do.
_KINDS = (
    (
        rf"^(?:time,srcaddr|[-+]?\d[-+\d.:]{{7,40}},{_ADDRESS},\d+,{_ADDRESS},\d+,)",
        "the CSV of iperf 2",
        "measure with iperf3 --json; iperf 2 has no form that is read",
    ),
    (
        r"^\[\s*(?:ID|SUM|\d+)\]|^(?:Connecting to host|Client connecting to|Server listening on) ",
        "the plain text of iperf",
        "run iperf3 with --json and import what it prints",
    ),
    (
        r"^\[Connecting\] connecting to|send call time",
        "the plain text of irtt",
        "run irtt client with -o FILE",
    ),
    (
        r"^(?:Submitting task|Task URL:|Next scheduled run:)",
        "the plain text of pScheduler",
        "run pscheduler task --format json",
    ),
    (r"\bMbps\b.*%TX\b", "the plain text of nuttcp", "measure with iperf3 --json, or run it by pScheduler"),
    (
        r"^(?:MIGRATED )?(?:TCP|UDP|SCTP)[_ ][A-Z_ ]+TEST",
        "the plain text of netperf",
        "run it by Flent and import the .flent.gz, or measure with iperf3 --json",
    ),
    (r"bytes from .*\bicmp_seq=", "the plain text of ping", "measure with irtt client -o FILE"),
)


def describe_plain_text(document: Document) -> StoreError | None:
    """The error for a text that a program printed for people; None where it is not known."""
    text = document.text[:SEARCHED_CHARS]
    for pattern, kind, hint in _KINDS:
        if re.search(pattern, text, re.MULTILINE):
            return StoreError(f"'{document.name}' is {kind}, not JSON", hint=hint)
    return None
