"""The ratio of two engines that measured one path in turn."""

from pathlab.study.comparison.engine_ratio import compare_engines
from tests.builders.trials import make_record

PAIR = ("native", "iperf3")


def test_engines_are_compared_within_cycles() -> None:
    rates = {("native", 0): 100.0, ("iperf3", 0): 50.0, ("native", 1): 90.0, ("iperf3", 2): 1.0}
    records = [make_record(cycle=c, throughput_bits_per_s=rate) for (_, c), rate in rates.items()]
    records.append(make_record(cycle=2, status="failed"))
    engines = [engine for engine, _ in rates] + ["native"]
    (found,) = compare_engines(records, engines, pair=PAIR)
    assert (found.pairs, found.ratio, found.interval.low) == (1, 2.0, None)
    many = [make_record(cycle=c, throughput_bits_per_s=v) for c in range(8) for v in (100.0 + c, 50.0)]
    (found,) = compare_engines(many, ["native", "iperf3"] * 8, pair=PAIR)
    assert found.pairs == 8
    assert found.interval.contains(2.07)


def test_no_pair_has_a_trial_that_the_lab_limited_or_that_had_other_settings() -> None:
    excluded = ((), ("host-limited",), ("lab-limited",), ("congestion-not-granted",), ("window-short",))
    records = [
        make_record(cycle=cycle, throughput_bits_per_s=rate, flags=flags)
        for cycle, flags in enumerate(excluded)
        for rate in (100.0, 50.0)
    ]
    (found,) = compare_engines(records, PAIR * len(excluded), pair=PAIR)
    assert (found.pairs, found.ratio) == (2, 2.0)


def test_any_two_engines_are_compared() -> None:
    records = [make_record(throughput_bits_per_s=rate) for rate in (30.0, 20.0)]
    (found,) = compare_engines(records, ["third", "native"], pair=("third", "native"))
    assert (found.first_bits_per_s, found.second_bits_per_s, found.ratio) == (30.0, 20.0, 1.5)


def test_round_trips_and_other_engines_are_left_out() -> None:
    records = [make_record(throughput_bits_per_s=rate) for rate in (30.0, 20.0, 1.0)]
    slow = [make_record(cycle=1, throughput_bits_per_s=rate, round_trips=9) for rate in (5.0, 1.0)]
    (found,) = compare_engines([*records, *slow], ["native", "iperf3", "redis", *PAIR], pair=PAIR)
    assert (found.pairs, found.ratio) == (1, 1.5)
