"""A view as text: it reads back, says what is unknown, and its numbers and times are those of browsers."""

import datetime
import math
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pathlab.errors import UsageError
from pathlab.study.analyses import Study
from pathlab.study.exploration.explored_results import ExploredResults
from pathlab.study.exploration.number_text import (
    format_exact_number,
    format_instant,
    parse_exact_number,
    parse_instant,
)
from pathlab.study.exploration.view import LevelFilter, RangeFilter, View, default_view
from pathlab.study.exploration.view_text import format_view, parse_view, read_view
from tests.builders.explored import make_explored
from tests.builders.messages import make_message_results
from tests.builders.results import make_quickstart
from tests.builders.views import HARD_LEVELS, HARD_VIEWS, make_hard_results


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HARD_VIEWS)
def test_a_view_reads_back_from_its_text(view: View) -> None:
    text = format_view(view)
    assert re.fullmatch(r"[A-Za-z0-9\-_.!~*'()%,:&=]*", text)  # no sign that an address or a shell changes
    assert parse_view(text, make_hard_results()) == view
    assert format_view(parse_view(text, make_hard_results())) == text


@pytest.mark.parametrize("level", HARD_LEVELS)
def test_a_level_with_signs_of_the_text_reads_back(level: str) -> None:
    view = View(x="streams", y=("drtt_ns",), where={"test_parameters": LevelFilter(levels=(level, None))})
    assert parse_view(format_view(view), make_hard_results()) == view


def test_commas_of_a_level_are_encoded_twice() -> None:
    view = View(x="streams", y=("drtt_ns",), where={"test_parameters": LevelFilter(levels=("a,b", "a b"))})
    assert format_view(view) == "x=streams&y=drtt_ns&colour=none&where.test_parameters=a%252Cb,a%20b"


def test_what_a_text_leaves_out_has_its_default() -> None:
    results = ExploredResults.of(Study(make_quickstart()))
    assert parse_view("", results) == default_view(results)
    assert default_view(results) == View(x="streams", y=("throughput_bits_per_s",), colour="window_bytes")
    assert parse_view("x=window_bytes", results) == View(
        x="window_bytes", y=("throughput_bits_per_s",), colour="streams"
    )
    assert parse_view("#stat=p95&dots=off&where.cycle=1..", results) == View(
        x="streams",
        y=("throughput_bits_per_s",),
        colour="window_bytes",
        statistic="p95",
        dots=False,
        where={"cycle": RangeFilter(low=1.0)},
    )


def test_paths_are_facets_and_several_results_colours() -> None:
    paths = ExploredResults.of(Study(make_explored(cycles=1)))
    assert (default_view(paths).colour, default_view(paths).facet) == ("window_bytes", "path")
    assert parse_view("x=streams", paths).facet is None
    several = ExploredResults.of(Study(make_quickstart()), Study(make_quickstart()))
    assert (default_view(several).colour, default_view(several).facet) == ("results", "window_bytes")


def test_factors_that_vary_are_kept_apart_the_one_with_most_levels_as_colour() -> None:
    levels = [(streams, window) for streams in (1, 2) for window in (65536, 131072, 262144)]
    source = make_quickstart(levels=levels)
    plan = [
        replace(row, settings={**row.settings, "congestion": ("cubic", "bbr")[row.row % 2]})
        for row in source.plan()
    ]
    found = default_view(ExploredResults.of(Study(source.copy(plan=plan))))
    assert (found.x, found.colour, found.facet) == ("streams", "window_bytes", "congestion")


def test_messages_are_shown_by_their_round_trips() -> None:
    found = default_view(ExploredResults.of(Study(make_message_results(cycles=1))))
    assert (found.x, found.y) == ("message_rate_per_s", ("round_trip_median_ns",))


def test_a_plan_without_results_has_the_view_that_its_results_will_have() -> None:
    done, begun = make_quickstart(), make_quickstart()
    begun.records = []
    found = ExploredResults.of(Study(begun))
    assert default_view(found) == default_view(ExploredResults.of(Study(done)))


@pytest.mark.parametrize(
    "text", ["{}=1", "{}", "x={}", "y={}", "stat={}", "where.{}=1", "where.status={}", "trial={}", "min-x={}"]
)
def test_a_very_long_text_is_refused_at_once_and_in_short(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_view(text.format("é" * 200_000), make_hard_results())
    assert len(raised.value.message) < 200
    assert "ééé…'" in raised.value.message


def test_a_page_shows_the_parts_that_it_understands() -> None:
    view, mistakes = read_view(
        "stat=mode&x=cycle&where.streams=3&where.status=complete&nothing", make_hard_results()
    )
    assert (view.x, view.statistic, len(mistakes)) == ("cycle", "median", 3)
    assert view.where == {"status": LevelFilter(levels=("complete",))}


@given(st.text(max_size=60))
def test_no_text_ends_in_another_error(text: str) -> None:
    view, _ = read_view(text, make_hard_results())
    assert parse_view(format_view(view), make_hard_results()) == view


@example(1e21)
@example(1e-7)
@example(123456789012345680000.0)
@example(5e-324)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back(value: float) -> None:
    assert parse_exact_number(format_exact_number(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (64.0, "64"),
        (0.1, "0.1"),
        (-1.5, "-1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1.25e-7, "1.25e-7"),
    ],
)
def test_numbers_are_written_as_browsers_write_them(value: float, text: str) -> None:
    assert format_exact_number(value) == text


@example(datetime.datetime(2105, 1, 1, 0, 0, 0, 1))
@given(st.datetimes(datetime.datetime(1834, 1, 1), datetime.datetime(2106, 1, 1)))
def test_times_read_back_to_the_microsecond(moment: datetime.datetime) -> None:
    text = f"{moment.isoformat()}Z"
    seconds = parse_instant(text)
    assert abs(seconds - moment.replace(tzinfo=datetime.UTC).timestamp()) <= 1e-6
    written = format_instant(seconds)
    assert datetime.datetime.fromisoformat(written) == moment.replace(tzinfo=datetime.UTC)
    assert parse_instant(written) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01", 0.0),
        ("1970-01-01T00:01", 60.0),
        ("1970-01-01T02:00:00.5+02:00", 0.5),
        ("1969-12-31T23:59:59.25Z", -0.75),
        ("2026-02-29", None),
        ("2026-02-28T24:00", None),
        ("2026-02-28 10:00", None),
        ("0000-01-01", None),
        ("0001-01-01T00:00:00+01:00", None),
        ("２０２６-01-01", None),
        ("tomorrow", None),
    ],
)
def test_times_of_iso_8601(text: str, seconds: float | None) -> None:
    assert parse_instant(text) == seconds


def test_times_beyond_the_calendar_are_its_ends() -> None:
    assert format_instant(-1e15) == "0001-01-01T00:00:00Z"
    assert format_instant(1e15) == "9999-12-31T23:59:59.999999Z"
    assert math.isclose(parse_instant(format_instant(1e15)) or 0, 253402300800)
