"""Text as an enemy would write it, in every field that others fill."""

import dataclasses
import re
from pathlib import Path
from typing import Any

from pathlab.store.records import HostRecord, JournalRecord, OriginRecord, TrialRecord
from pathlab.store.results import Results
from tests.builders.results import make_quickstart

KIB = 1024
#: A formula, sequences of terminals in 7 and 8 bits (colour, title, clipboard), CR, BS, DEL, a turn of the
#: direction, an invisible letter, rich markup that does not match, HTML, table and mathematics marks.
HOSTILE = (
    "=cmd()|\x1b[31m\x1b]52;c;ZXZpbA==\x07\r\b\x7f\x9b31m\x9d0;t\x9c\u202e\u200b[red]x[/none][link=http://e]"
    "<script>alert(1)</script>$x$ **b** `c`"
)
#: The same where a name is all that fits: no line break, no slash.
HOSTILE_NAME = HOSTILE.replace("/", "")
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def fill_hostile(folder: Path) -> Path:
    """Store a small sweep whose every text that is not ours is ``HOSTILE``; return the folder."""
    sweep = make_quickstart(cycles=2, levels=[(1, 64 * KIB), (2, 64 * KIB)])
    facts = {"kernel": HOSTILE, HOSTILE: {"nic": [HOSTILE, 1]}, "sysctls": {"net.ipv4.x": HOSTILE}}
    ends: dict[str, Any] = {"path_source": f"{HOSTILE}a", "path_destination": f"{HOSTILE}b"}
    links = sweep.campaign.environment.get("lab") or {"links": []}
    campaign = dataclasses.replace(
        sweep.campaign,
        name=HOSTILE,
        title=HOSTILE,
        text=f"# {HOSTILE}\n",
        program_version=HOSTILE,
        environment={
            "lab": {
                "backend": HOSTILE,
                "links": [{**link, "between": list(ends.values())} for link in links["links"]],
            },
            "fallback": None,
        },
    )
    plan = [
        dataclasses.replace(row, **ends, settings={**row.settings, "congestion": HOSTILE, "tos": HOSTILE})
        for row in sweep.plan()
    ]
    with Results.create(folder, campaign, plan) as stored:
        for name in ends.values():
            stored.add_host(HostRecord(name=name, recorded_utc="2026-01-02T03:04:06+00:00", facts=facts))
        stored.add_journal(
            JournalRecord(
                recorded_utc="2026-01-02T03:04:06+00:00", kind="change", plan_row=0, text=HOSTILE, facts=facts
            )
        )
        for number, record in enumerate(sweep.records):
            stored.add_trial(_poison(record, ends), {}, origin=_make_origin(number) if number == 1 else None)
        failed: dict[str, Any] = {
            "status": "failed",
            "failed_stage": HOSTILE,
            "failure": HOSTILE,
            "attempt": 2,
        }
        stored.add_trial(dataclasses.replace(_poison(sweep.records[0], ends), **failed), {})
    return folder


def _poison(record: TrialRecord, ends: dict[str, Any]) -> TrialRecord:
    texts: dict[str, Any] = dict.fromkeys(
        (
            "source_address",
            "destination_address",
            "congestion_requested",
            "congestion_sender",
            "congestion_receiver",
            "probe_method",
            "probe_stamps",
            "engine_version",
        ),
        HOSTILE,
    )
    return dataclasses.replace(record, **ends, **texts, flags=(*record.flags, HOSTILE))


def _make_origin(number: int) -> OriginRecord:
    return OriginRecord(
        trial_id=0,
        program=HOSTILE,
        program_version=HOSTILE,
        file_name=HOSTILE,
        file_sha256="ef" * 32,
        part=f"{HOSTILE}{number}",
        imported_utc="2026-01-02T03:06:00+00:00",
        details={HOSTILE: HOSTILE},
    )
