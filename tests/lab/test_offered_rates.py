"""Harnesses of technologies send every request of an offered rate, each in the interval of its time."""

import pytest

from tests.technologies.programs import DONE, LANGUAGES, MS, run_program

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_offered_rate_is_kept_and_phases_are_kept_apart(language: str) -> None:
    """A stream that is late gives up what is left."""
    times = {"interval_ns": 200 * MS, "warmup_ns": 250 * MS, "duration_ns": 500 * MS}
    end = run_program(language, "ask", "go", rate_per_s=200, streams=2, **times)
    result = end.find("result")
    assert (end.status, result["complete"]) == (DONE, True), end.stderr
    assert result["messages"]["sent"] == [75, 75]
    trips = [record for record in end.records if record["type"] == "round_trips"]
    counts = {(row["phase"], row["stream"], row["start_ns"]): row["round_trip_ns"]["count"] for row in trips}
    starts = {"warmup": {0: 20, 200 * MS: 5}, "steady": {250 * MS: 20, 450 * MS: 20, 650 * MS: 10}}
    assert counts == {
        (phase, stream, start): count
        for phase, rows in starts.items()
        for stream in range(2)
        for start, count in rows.items()
    }
    assert result["messages"]["round_trip_ns"]["count"] == 100
