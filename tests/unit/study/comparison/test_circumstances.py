"""What differs besides what is compared: times, hosts, and settings that were changed on purpose."""

import dataclasses
import datetime
from typing import Any

import pytest

from pathlab.report.comparison.comparison_text import describe_comparison
from pathlab.report.comparison.comparison_times import note_times, warn_of_times
from pathlab.store.records import HostRecord
from tests.builders.comparisons import compare, make_results
from tests.builders.results import SyntheticResults

DAY = datetime.datetime(2026, 11, 2, tzinfo=datetime.UTC)


def start_at(results: SyntheticResults, hour: float, *, apart_h: float = 0.01) -> SyntheticResults:
    """The results with trials at these times: from ``hour`` of the first day on, one after the other."""
    results.records = [
        dataclasses.replace(
            record, started_utc=(DAY + datetime.timedelta(hours=hour + apart_h * place)).isoformat()
        )
        for place, record in enumerate(results.records)
    ]
    return results


@pytest.mark.parametrize(
    ("hour", "apart_h", "warning", "note"),
    [
        (19.1, 0.01, None, None),  # in turn with the first results
        (20, 0.01, None, "r1 2026-11-02 20:00 to 20:"),
        (31, 0.01, "r1 2026-11-03 07:00 to 07:11 UTC, at other hours of the day. How the path", None),
        (43, 0.01, "r1 2026-11-03 19:00 to 19:11 UTC. How the path", None),  # a day later, at the same hour
        (13, 0.01, "at other hours of the day", None),
        (15.5, 0.01, "at other hours of the day", None),  # less than six hours before
        (26, 2, "r1 2026-11-03 02:00 to 2026-11-04 ", None),  # at every hour of the next days
    ],
)
def test_times_that_lie_apart_are_said_beside_the_answer(
    hour: float, apart_h: float, warning: str | None, note: str | None
) -> None:
    found = compare(start_at(make_results(seed=1), 19), start_at(make_results(seed=2), hour, apart_h=apart_h))
    for text, expected in ((warn_of_times(found, "r1"), warning), (note_times(found, "r1"), note)):
        assert (text is None) == (expected is None), text
        assert (expected or "") in (text or "")
    spans = describe_comparison(found)["spans"]
    assert spans[0]["first_utc"].startswith("2026-11-02T19:00")
    assert [span["results"] for span in spans] == ["r0", "r1"]


@pytest.mark.parametrize(
    ("hours", "warning"),
    [
        ((19.1, 19.3), None),  # shared: the two took turns
        ((7.2, 8.9), "r0 from 19:00 to 20:00, r1 from 07:00 to 09:00 UTC."),
        ((23.5, 0.5), "r0 from 19:00 to 20:00, r1 from 23:00 to 01:00 UTC."),
        ((3.5, 12.5), "r1 from 03:00 to 04:00 and from 12:00 to 13:00 UTC."),
    ],
)
def test_days_that_were_measured_at_other_hours_are_told_apart(
    hours: tuple[float, float], warning: str | None
) -> None:
    """Both are spread over the same days: their spans overlap."""
    sides = []
    for seed, of_day in ((1, (19.1, 19.9)), (2, hours)):
        results = make_results(seed=seed)
        results.records = [
            dataclasses.replace(
                record,
                started_utc=(DAY + datetime.timedelta(days=place, hours=of_day[place % 2])).isoformat(),
            )
            for place, record in enumerate(results.records)
        ]
        sides.append(results)
    text = warn_of_times(compare(*sides), "r1")
    assert (text is None) == (warning is None), text
    assert (warning or "") in (text or "")


@pytest.mark.parametrize("started_utc", ["", "1970-01-01T00:00:07Z"])
def test_times_that_are_not_known_are_no_difference(started_utc: str) -> None:
    second = make_results(seed=2)
    second.change_trials(started_utc=started_utc)
    found = compare(start_at(make_results(seed=1), 19), second)
    assert [span.label for span in found.spans] == ["r0"]
    assert warn_of_times(found, "r1") is note_times(found, "r1") is None


NIC = {"state": "up", "driver": "ixgbe", "speed_bits_per_s": 10**10, "mtu_bytes": 1500}
FACTS: dict[str, Any] = {
    "kernel": {"release": "6.1.0"},
    "cpu": {"model": "Xeon", "usable": 8},
    "nics": {
        "eth0": {**NIC, "offloads": {"tso": True, "gro": True}},
        "docker0": {**NIC, "driver": "bridge", "offloads": {"tso": False}},
        "lo": {"state": "up", "offloads": {"tso": True}},
    },
}


def host(results: SyntheticResults, **facts: Any) -> SyntheticResults:
    names = {name for one in results.records for name in (one.path_source, one.path_destination)}
    own = {"west": {**FACTS, **facts}}
    records = [HostRecord(name=name, recorded_utc="", facts=own.get(name, FACTS)) for name in sorted(names)]
    return results.copy(hosts=records)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, []),
        ({"load": {"minute_1": 3}}, []),
        ({"kernel": {"release": "6.12.0"}}, [("kernel of west", "6.1.0", "6.12.0")]),
        ({"kernel": None}, []),  # not stated is no difference
        ({"cpu": {"model": "Xeon", "usable": 4}}, [("CPU of west", "Xeon, 8 usable", "Xeon, 4 usable")]),
        ({"nics": {"eth0": FACTS["nics"]["eth0"]}}, []),  # a container's bridge carries nothing
        (
            {"nics": {"ens1": {**NIC, "mtu_bytes": 9000, "offloads": {"tso": True, "gro": False}}}},
            [
                ("NIC of west", "ixgbe 10 Gbit/s MTU 1500", "ixgbe 10 Gbit/s MTU 9000"),
                ("offloads of west", "gro on", "gro off"),
            ],
        ),
        ({"nics": {"e": {"state": "up", "driver": [1], "offloads": 3}}}, [("NIC of west", "", "[1]")]),
        ({"nics": [1], "cpu": "Xeon", "kernel": "6.1.0"}, []),
    ],
)
def test_hosts_that_differ_are_named(facts: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    found = compare(host(make_results(seed=1)), host(make_results(seed=2), **facts))
    assert [(one.fact, one.after[0]) for one in found.unlike] == [
        (fact, after) for fact, _, after in expected
    ]
    assert all(before in one.before[0] for one, (_, before, _) in zip(found.unlike, expected, strict=True))


def test_hosts_of_other_names_are_held_against_each_other() -> None:
    first, second = host(make_results(seed=1)), make_results(seed=2)
    second.change_trials(path_source="elsewhere")
    second = host(second).copy(
        hosts=[
            HostRecord(name="elsewhere", recorded_utc="", facts={**FACTS, "kernel": {"release": "6.12.0"}})
        ]
    )
    (kernel,) = compare(first, second, any_path=True).unlike
    assert (kernel.fact, kernel.before, kernel.after) == ("kernel", ("6.1.0",), ("6.12.0",))


def test_streams_windows_and_congestion_control_can_be_ignored_together() -> None:
    first, second = make_results(seed=1), make_results(seed=2)
    for results, streams in ((first, 1), (second, 4)):
        results.records = [one for one in results.records if one.streams == streams]
    found = compare(first, second, ignored=("streams", "window", "congestion"))
    assert {row.cell.describe()["streams"] for row in found.rows} == {None}
    assert [one.fact for one in found.unlike] == ["streams"]
    assert describe_comparison(found)["ignored_on_purpose"] == ["streams", "window", "congestion"]
