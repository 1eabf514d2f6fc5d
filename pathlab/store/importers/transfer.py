"""A timed transfer: what any program carried in how long, as ``action/transfer.py`` writes it."""

from __future__ import annotations

from pathlab.errors import Stage
from pathlab.store.flags import Flag, Status
from pathlab.store.imported_trial import UNKNOWN, ImportedTrial, Measurement, parse_utc, to_ns
from pathlab.store.json_fields import GivenFile

TITLE = "timed transfers"
MARK = "pathlab_transfer"  # the key that holds the version of the format
VERSION = 1


def read_trials(given: GivenFile) -> list[ImportedTrial] | None:
    """The one transfer of a file, None where it is of another program. Raises StoreError.

    The time is that of the whole program, connection and slow start included, and nobody but the program
    knows that all bytes arrived: the trial is flagged ``sender-counted``. It failed where the exit status is
    not 0.
    """
    whole = given.match(MARK)
    if whole is None:
        return None
    if whole.whole(MARK) != VERSION:
        whole.fail(f"{MARK} is not {VERSION}, the only version that is known here")
    started, size, seconds = whole.text("started_utc"), whole.count("bytes"), whole.number("seconds")
    if not started or not size or not seconds or seconds < 0:
        whole.fail("started_utc, bytes and seconds do not say what was carried when and in how long")
    exit_status = whole.whole("exit_status") or 0
    length_ns = to_ns(seconds)
    outcome: dict[str, object] = {
        "steady_ns": length_ns,
        "received_steady_bytes": size,
        "throughput_bits_per_s": size * 8 / seconds,
    }
    if exit_status:
        failure = f"the command ended with status {exit_status}"
        outcome = {"status": Status.FAILED, "failed_stage": Stage.ENGINE, "failure": failure}
    measurement = Measurement(
        program=whole.text("program") or "transfer",
        ends=(whole.text("source") or UNKNOWN, whole.text("destination") or UNKNOWN),
        started_utc=parse_utc(started, given.name),
        columns={
            "streams": whole.count("streams") or 1,
            "interval_ns": length_ns,
            "warmup_ns": 0,
            "duration_ns": 0,  # it ended by its amount
            "flags": (Flag.SENDER_COUNTED,),
            **outcome,
        },
        settings={"transfer_bytes": size},
        notes=whole.notes,
        details={"command": whole.text("command")},
    )
    return [measurement.build()]
