"""The answer of a trial as one line and as the first part of a document."""

from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.verdicts.limits import Limit, LimitVerdict
from pathlab.analysis.verdicts.steadiness import Steadiness
from pathlab.report.trials.trial_answer import (
    NOT_MEASURED,
    SUMMARY_MAX_CHARACTERS,
    TrialAnswer,
    describe_answer,
    describe_trial_limit,
    format_summary,
    group_reasons,
)
from pathlab.store.flags import Flag
from pathlab.store.records import TrialRecord
from pathlab.store.usable import describe_record, is_usable
from tests.builders.results import make_quickstart
from tests.builders.trials import make_failed, make_record
from tests.golden.report.test_limit_text import FOUND

RECORD = make_record(
    started_utc="2026-11-27T04:18:35.123+00:00",
    path_source="local",
    path_destination="10.77.0.2",
    throughput_bits_per_s=94.1e6,
    loaded_rtt_mean_ns=52.8e6,
    unloaded_rtt_mean_ns=40e6,
    loaded_sent=500,
    loaded_received=500,
    loaded_late=0,
)
HOSTS = st.sampled_from(
    ["a", "10.77.0.2", "fe80::1%eth0", "2001:db8:1234:5678:9abc:def0:1234:5678", "h" * 253]
)
RATES = st.none() | st.just(0.0) | st.floats(1e-3, 1e12)
TIMES = st.none() | st.floats(-1e12, 1e12)


def answer(
    record: TrialRecord,
    direction: str = "forward",
    limit: Limit | None = Limit.PATH_CAPACITY,
    **steadiness: Any,
) -> TrialAnswer:
    undecided = Undecided.CONFLICTING_EVIDENCE if limit is None else None
    found = replace(FOUND, verdict=LimitVerdict(limit=limit, evidence=(), undecided=undecided))
    steady = Steadiness(**{"spans": 10, "steady": True, **steadiness})
    return TrialAnswer(
        record=record, limit=describe_trial_limit(record, found), steadiness=steady, direction=direction
    )


#: What every line begins with.
HEAD = "2026-11-27 04:18:35 UTC local to 10.77.0.2: "


@pytest.mark.parametrize(
    ("changes", "direction", "others", "said"),
    [
        ({}, "forward", {}, "94.1 Mbit/s, added delay 12.8 ms, limited by the path's capacity"),
        (
            {"throughput_reverse_bits_per_s": 20e6},
            "both",
            {"limit": None},
            "94.1 Mbit/s there, 20 Mbit/s back, added delay 12.8 ms, limit undecided",
        ),
        (
            {"loaded_received": 490, "flags": ("lab", "busy-core")},
            "forward",
            {"steady": False},
            "94.1 Mbit/s (not steady), 1 flag, dRTT 12.8 ms, probe loss 2 %, limited by..",
        ),
        (
            {"flags": ("lab", "lab-limited")},
            "forward",
            {"limit": None},
            "94.1 Mbit/s, provisional (lab-limited), added delay 12.8 ms, limit undecided",
        ),
        (
            {"loaded_rtt_mean_ns": None},
            "forward",
            {"limit": None},
            "94.1 Mbit/s, added delay –, limit undecided",
        ),
    ],
)
def test_the_line_has_what_a_ticket_needs(
    changes: dict[str, Any], direction: str, others: dict[str, Any], said: str
) -> None:
    assert format_summary(answer(replace(RECORD, **changes), direction, **others)) == f"{HEAD}{said}"


def test_the_line_names_the_sender_first() -> None:
    assert format_summary(answer(RECORD, "reverse")).startswith(
        "2026-11-27 04:18:35 UTC 10.77.0.2 to local: "
    )


def test_a_failed_trial_says_where_and_why() -> None:
    failed = make_failed(RECORD, stage="connect", reason="no route\nto host")
    assert format_summary(answer(failed)) == (
        "2026-11-27 04:18:35 UTC local to 10.77.0.2: failed (connect): no route to host"
    )


@given(
    hosts=st.tuples(HOSTS, HOSTS),
    rates=st.tuples(RATES, RATES),
    delays=st.tuples(TIMES, TIMES),
    flags=st.lists(st.sampled_from(list(Flag)), unique=True).map(tuple),
    direction=st.sampled_from(["forward", "reverse", "both"]),
    limit=st.none() | st.sampled_from(Limit),
    steady=st.none() | st.booleans(),
    failure=st.none() | st.text(max_size=300),
)
def test_the_line_fits_and_never_hides_that_a_trial_is_provisional(
    hosts: tuple[str, str],
    rates: tuple[float | None, float | None],
    delays: tuple[float | None, float | None],
    flags: tuple[str, ...],
    direction: str,
    limit: Limit | None,
    steady: bool | None,
    failure: str | None,
) -> None:
    ended: dict[str, Any] = {"failure": failure, "failed_stage": "engine", "status": "failed"}
    record = replace(
        RECORD,
        path_source=hosts[0],
        path_destination=hosts[1],
        throughput_bits_per_s=rates[0],
        throughput_reverse_bits_per_s=rates[1],
        loaded_rtt_mean_ns=delays[0],
        unloaded_rtt_mean_ns=delays[1],
        loaded_received=123,
        flags=flags,
        **({} if failure is None else ended),
    )
    line = format_summary(answer(record, direction, limit, steady=steady))
    assert len(line) <= SUMMARY_MAX_CHARACTERS
    assert "\n" not in line
    assert line.startswith("2026-11-27 04:18:35 UTC ")
    if failure is not None:
        assert "failed (engine)" in line
        return
    assert ("provisional" in line) is not is_usable(record)
    assert ("not steady" in line) is (steady is False and rates[0] is not None)


@pytest.mark.parametrize("direction", ["forward", "both"])
@pytest.mark.parametrize("kind", ["bytes", "messages", "datagrams", "failed", "nothing"])
def test_every_null_has_one_reason_and_the_answer_comes_first(kind: str, direction: str) -> None:
    record = {
        "bytes": make_quickstart(cycles=1).records[0],
        "messages": replace(RECORD, messages_per_s=1e3),
        "datagrams": replace(RECORD, datagram_bytes=1000, udp_sent_packets_per_s=1e3),
        "failed": make_failed(RECORD),
        "nothing": make_record(),
    }[kind]
    exported = {"format_version": 1, "trial": {"trial_id": 1, **describe_record(record)}}
    document = describe_answer(answer(record, direction), exported)
    assert next(iter(document)) == "answer"
    assert None not in document["answer"].values()
    trial = document["trial"]
    assert trial == exported["trial"]
    values = list(trial.values())
    first_null = next((place for place, value in enumerate(values) if value is None), len(values))
    assert not any(value is not None for value in values[first_null:])
    named = [name for names in document["not_measured"].values() for name in names]
    assert sorted(named) == sorted(name for name, value in trial.items() if value is None)
    assert document["steadiness"]["text"] is None


@pytest.mark.parametrize(
    ("changes", "direction", "column", "reason"),
    [
        ({}, "forward", "udp_jitter_ns", "no UDP flow"),
        ({"datagram_bytes": 100}, "forward", "udp_jitter_ns", NOT_MEASURED),
        ({}, "forward", "round_trip_p99_ns", "no messages were sent"),
        ({"messages_per_s": 5.0}, "forward", "round_trip_p99_ns", NOT_MEASURED),
        ({}, "forward", "throughput_reverse_bits_per_s", "traffic in one direction"),
        ({}, "both", "throughput_reverse_bits_per_s", NOT_MEASURED),
        ({}, "forward", "failure", "the trial did not fail"),
        ({}, "forward", "window_requested_bytes", "autotuning"),
        (
            {"retransmitted_segments": 0},
            "forward",
            "spurious_retransmission_ratio",
            "nothing was retransmitted",
        ),
        ({}, "forward", "spurious_retransmission_ratio", NOT_MEASURED),
    ],
)
def test_a_reason_is_never_one_that_does_not_hold(
    changes: dict[str, Any], direction: str, column: str, reason: str
) -> None:
    record = replace(RECORD, **changes)
    missing = [one.name for one in fields(record) if getattr(record, one.name) is None]
    assert column in group_reasons(record, direction, missing)[reason]


def test_an_unsteady_rate_is_in_the_document_as_on_the_terminal() -> None:
    unsteady = answer(
        RECORD, steady=False, mean_bits_per_s=94.1e6, least_bits_per_s=10e6, most_bits_per_s=200e6
    )
    document = describe_answer(unsteady, {"trial": asdict(RECORD)})
    assert document["answer"]["steady"] is False
    assert document["steadiness"]["text"] == (
        "94.1 Mbit/s on average, not steady: 10 Mbit/s to 200 Mbit/s in single seconds."
    )


def test_both_directions_have_a_sum_only_if_both_were_measured() -> None:
    both = replace(RECORD, throughput_reverse_bits_per_s=5.9e6)
    assert describe_answer(answer(both, "both"), {"trial": asdict(both)})["answer"][
        "throughput_sum_bits_per_s"
    ] == pytest.approx(100e6)
    assert answer(RECORD, "both").sum_bits_per_s is None
