"""A trial's series over its time: the rates of the report, gaps of lost probes, bands, closer looks."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pathlab.errors import StoreError
from pathlab.study.analyses import Study
from pathlab.study.base.trial_series import build_stream_table, count_retransmits, read_columns
from pathlab.study.exploration.course_series import list_courses, parse_course
from pathlab.study.exploration.courses import (
    LINES_MAX,
    VALUES_PER_PIXEL,
    CourseCache,
    find_courses,
    load_course,
    read_reduced_course,
    reduce_course,
)
from pathlab.study.exploration.explored_results import ExploredResults
from tests.builders.explored import make_explored


def make_results(series: dict[str, pd.DataFrame] | None = None, streams: int = 4) -> ExploredResults:
    made = make_explored(cycles=1, streams=(streams,), windows=(65536,), destinations=("east",))
    if series is not None:
        made = made.copy(series={1: series})
    return ExploredResults.of(Study(made))


def test_rates_of_streams_are_those_that_the_report_draws() -> None:
    results = make_results()
    found = read_reduced_course(results, 0, "receiver_intervals.rate")
    names = ("index", "stream", "start_ns", "end_ns", "bytes")
    columns = read_columns(results.study("A").study_source, 1, {"receiver_intervals": names})
    table = build_stream_table(columns["receiver_intervals"], ("bytes",))
    drawn = [line.name for line in found.lines]
    assert drawn == ["all 4 streams", "stream 0", "stream 1", "stream 2", "stream 3"]
    rates = table.rates_bits_per_s / 1e6
    assert np.allclose(np.column_stack([line.values for line in found.lines[1:]]), rates)
    assert np.allclose(found.lines[0].values, rates.sum(axis=1))
    assert [line.is_total for line in found.lines] == [True, False, False, False, False]
    assert found.x_s.tolist() == table.start_s.tolist()
    assert found.last_s == table.end_s[-1]
    assert found.is_step
    assert not found.reduced


def test_retransmissions_are_those_of_each_interval() -> None:
    rows = [
        {"index": step, "phase": "steady", "start_ns": step * 10**8, "end_ns": (step + 1) * 10**8}
        | {"stream": stream, "bytes": 1, "total_retrans_segments": count}
        for stream, counts in enumerate(([2, 2, 7, 3], [0, 1, 1, 1]))
        for step, count in enumerate(counts)
    ]
    results = make_results({"sender_intervals": pd.DataFrame(rows)}, streams=2)
    found = read_reduced_course(results, 0, "sender_intervals.retransmissions")
    total, first, second = (line.values for line in found.lines)
    assert first[:3].tolist() == [2, 0, 5]
    assert np.isnan(first[3])  # the counter went backwards
    assert second.tolist() == [0, 1, 0, 0]
    columns = read_columns(results.study("A").study_source, 1, {"sender_intervals": tuple(rows[0])})
    table = build_stream_table(columns["sender_intervals"], ("total_retrans_segments",))
    assert table is not None
    counted = count_retransmits(table)
    assert total.tolist() == counted.tolist()


def test_lost_probes_are_gaps_and_are_counted_in_the_part_shown() -> None:
    rtt_ns = [1e6, None, 3e6, None, 5e6, 6e6]
    sent = pd.DataFrame({"sent_ns": np.arange(6) * 10**9, "rtt_ns": pd.array(rtt_ns, dtype="Int64")})
    results = make_results({"loaded_probes": sent})
    found = read_reduced_course(results, 0, "loaded_probes.rtt_ns")
    assert found.lost == 2
    assert found.lost_s.tolist() == [1, 3]
    assert np.isnan(found.lines[0].values).tolist() == [False, True, False, True, False, False]
    part = read_reduced_course(results, 0, "loaded_probes.rtt_ns", start_s=1.5, end_s=3.5)
    assert part.lost == 1
    assert part.x_s.tolist() == [1, 2, 3, 4]  # with the neighbours, so that lines reach the edges
    assert (part.first_s, part.last_s) == (0, 5)


def test_many_streams_become_bands_and_their_sum() -> None:
    results = make_results(streams=LINES_MAX + 3)
    found = read_reduced_course(results, 0, "receiver_intervals.rate")
    single = load_course(results.study("A"), 1, parse_course("receiver_intervals.rate")).values
    assert [line.name for line in found.lines] == [f"all {LINES_MAX + 3} streams"]
    assert np.allclose(found.lines[0].values, single.sum(axis=1))
    assert np.allclose(found.bands, np.quantile(single, (0, 0.25, 0.5, 0.75, 1), axis=1).T)
    rtts = read_reduced_course(results, 0, "sender_intervals.rtt_us")
    assert rtts.lines == ()  # a sum of RTTs means nothing
    assert len(rtts.bands)


@pytest.mark.parametrize("streams", [1, 300])
def test_no_more_values_than_a_screen_shows_and_the_extremes_stay(streams: int) -> None:
    steps = 5_000
    rng = np.random.default_rng(streams)
    step = np.repeat(np.arange(steps), streams)
    frame = pd.DataFrame(
        {
            "index": step,
            "phase": "steady",
            "start_ns": step * 10**7,
            "end_ns": (step + 1) * 10**7,
            "stream": np.tile(np.arange(streams), steps),
            "bytes": rng.integers(1_000, 2_000, steps * streams),
        }
    )
    frame.loc[frame["index"] == 2_345, "bytes"] = 9_999
    results = make_results({"receiver_intervals": frame}, streams=streams)
    found = read_reduced_course(results, 0, "receiver_intervals.rate", pixels=300)
    drawn = sum(len(line.values) for line in found.lines) + found.bands.size
    assert found.reduced
    assert not found.is_step
    assert drawn <= VALUES_PER_PIXEL * 300
    most = 9_999 * 8 / 0.01 / 1e6
    most_drawn = max(float(line.values.max()) for line in found.lines)
    assert most_drawn == pytest.approx(most * streams)
    close = read_reduced_course(results, 0, "receiver_intervals.rate", start_s=23.4, end_s=23.5, pixels=300)
    assert not close.reduced or streams == 300
    assert close.samples <= 13


def test_a_closer_look_reads_the_series_once() -> None:
    results = make_results()
    source: Any = results.study("A").study_source
    reads: list[int] = []
    read = source.series_tables

    def count(trial_id: int, columns: Any) -> Any:
        reads.append(trial_id)
        return read(trial_id, columns)

    source.series_tables = count
    cache = CourseCache()
    whole = read_reduced_course(results, 0, "receiver_intervals.rate", cache=cache)
    part = read_reduced_course(results, 0, "receiver_intervals.rate", start_s=1, end_s=2, cache=cache)
    assert reads == [1]
    assert len(part.x_s) < len(whole.x_s)
    small = CourseCache(most_bytes=1)
    for _ in range(2):
        read_reduced_course(results, 0, "receiver_intervals.rate", cache=small)
    assert reads == [1, 1, 1]  # what does not fit is not held


def test_counters_of_several_keys_are_one_line_each() -> None:
    rows = [
        {"time_ns": (span + 1) * 10**9, "span_ns": 10**9, "interface": name, "handle": "1:"}
        | {"parent": "", "kind": "fq", "backlog_bytes": 1000 * span + place}
        for span in range(3)
        for place, name in enumerate(("eth0", "eth1"))
    ]
    results = make_results({"sender_qdiscs": pd.DataFrame(rows)})
    found = read_reduced_course(results, 0, "sender_qdiscs.backlog_bytes")
    assert [line.name for line in found.lines] == ["eth0 1: fq", "eth1 1: fq"]
    assert found.lines[1].values.tolist() == [1, 1001, 2001]
    assert found.x_s.tolist() == [1, 2, 3]


def test_courses_of_a_trial_are_numbers_over_time_the_rate_first() -> None:
    results = make_results()
    source = results.study("A").study_source
    kinds = {kind: [str(name) for name in source.series(1, kind)] for kind in source.series_kinds(1)}
    found = list_courses({**kinds, "settings": ("name", "requested"), "tcp_info_raw": ("index",)})
    names = [one.name for one in found]
    assert names[:2] == ["receiver_intervals.rate", "sender_intervals.rate"]
    assert not {name for name in names if name.endswith((".index", ".stream", ".sent_ns", ".phase"))}
    assert {name.partition(".")[0] for name in names} == {*kinds}
    for one in found:
        assert parse_course(one.name).label == one.label
        load_course(results.study("A"), 1, one)


def test_a_course_of_one_instant_can_be_drawn() -> None:
    frame = pd.DataFrame({"sent_ns": [5], "rtt_ns": [7_000_000]})
    loaded = load_course(
        make_results({"loaded_probes": frame}).study("A"), 1, parse_course("loaded_probes.rtt_ns")
    )
    found = reduce_course(loaded, 0.0, 1.0, 1)
    assert found.lines[0].values.tolist() == [7]


def test_a_counter_of_the_kernel_is_a_course_by_its_name() -> None:
    rows = [
        {"time_ns": (span + 1) * 10**9, "span_ns": 10**9, "name": name, "value": value}
        for span in range(3)
        for name, value in (("TcpRetransSegs", span), ("TcpOutRsts", 0), (None, None))
    ]
    results = make_results({"sender_tcp": pd.DataFrame(rows)})
    source = results.study("A").study_source
    assert [one.name for one in find_courses(source, 1, ["sender_tcp"])] == ["sender_tcp.TcpRetransSegs"]
    found = read_reduced_course(results, 0, "sender_tcp.TcpRetransSegs")
    assert (found.series.label, found.series.group) == ("TcpRetransSegs", "TCP counters, sender")
    assert found.x_s.tolist() == [0, 1, 2]  # an increase in the span from there on
    assert found.lines[0].values.tolist() == [0, 1, 2]
    with pytest.raises(StoreError):
        read_reduced_course(results, 0, "sender_tcp.Unknown")
