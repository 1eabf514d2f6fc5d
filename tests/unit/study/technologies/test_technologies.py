"""Round trips by technology: groups, order, overhead over the transport beneath, and load against none."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.study.analyses import Study
from pathlab.study.comparison.rows import ChangeVerdict
from pathlab.study.technologies.technology_round_trips import TechnologyRoundTrips
from tests.builders.results import SyntheticResults
from tests.builders.technologies import FACTS, LOADS, Facts, Technology, make_adapter, make_technology_results

TCP, REDIS = Technology(), make_adapter("redis", 20_000.0)


def make_study(results: SyntheticResults) -> Study:
    study = Study(results)
    study.technology_facts = FACTS
    return study


def measure(technologies: Sequence[Technology] = (TCP, REDIS), **changes: Any) -> Study:
    options = {"sizes": (64,), "histograms": False, **changes}
    return make_study(make_technology_results(technologies, **options))


def find_technology(study: Study, engine: str) -> TechnologyRoundTrips:
    """The first, with the smallest messages."""
    return next(one.result for one in study.technologies() if one.result.engine == engine)


@pytest.fixture(scope="module")
def study() -> Study:
    return make_study(make_technology_results())


def test_figures_are_of_all_round_trips_together(study: Study) -> None:
    redis = find_technology(study, "redis")
    kept = [one for one in study.study_source.records if one.adapter_versions == "redis 1.2.3"]  # type: ignore[attr-defined]
    mine = [one for one in kept if one.throughput_bits_per_s / one.messages_per_s == pytest.approx(64 * 8)]
    assert redis.least_ns == min(one.round_trip_min_ns for one in mine)
    assert redis.most_ns == max(one.round_trip_max_ns for one in mine)
    assert redis.mean_ns == pytest.approx(sum(one.round_trip_mean_ns for one in mine) / len(mine))
    assert redis.round_trips == sum(one.round_trips for one in mine)
    assert redis.tail.n == 4000 * 8  # the warm-up left out
    known = [one.value is not None for one in redis.tail.quantiles]
    assert known == [True, True, True, True, False, False]  # 3.2 samples are above p99.99
    assert (redis.language, redis.adds, redis.versions) == ("c", ("broker", "store and copy"), "redis 1.2.3")
    asking, answering = redis.asking_cpu_ns.median, redis.answering_cpu_ns.median
    assert asking == pytest.approx((answering or 0.0) * 1.5)


def test_a_program_that_is_asked_over_a_pipe_has_its_hop_stated(study: Study) -> None:
    pipe = find_technology(study, "tcp-pipe")
    assert (pipe.hop_ns, pipe.hop_trials) == (2_200.0, 8)
    assert find_technology(study, "redis").hop_ns is None


def test_overhead_is_over_the_best_transport_beneath(study: Study) -> None:
    found = {
        (one.result.technology, one.result.message_bytes): one.result for one in study.technology_overhead()
    }
    assert len(found) == 10  # of technologies alone
    grpc = found["grpc", 64]
    assert (grpc.beneath, grpc.median.first_n) == ("tcp", 8)
    assert grpc.median.interval_ratio.contains(26_206.4 / 4_003.2)
    assert grpc.p99.ratio == pytest.approx(grpc.median.ratio)
    assert found["quic-aioquic", 64].beneath == "udp"
    assert grpc.language_share_ratio is None


def share(study: Study) -> tuple[float | None, int]:
    found = [one.result for one in study.technology_overhead() if one.result.message_bytes == 64]
    quic = next(one for one in found if one.technology == "quic-aioquic")
    return quic.language_share_ratio, quic.share_cycles


def test_the_share_of_the_language_is_that_of_the_time_added(study: Study) -> None:
    same = Study(study.study_source)
    same.technology_facts = {**FACTS, "quic-aioquic": Facts("python", "tcp", "tcp-python")}
    ratio, cycles = share(same)
    assert ratio == pytest.approx((5_106 - 4_003) / (164_005 - 4_003), abs=0.001)
    assert cycles == 8


def test_cycles_in_which_a_technology_is_faster_count_in_the_share() -> None:
    python, quic = make_adapter("tcp-python", 4_400.0), make_adapter("quic-aioquic", 4_800.0)
    study = measure((TCP, python, quic), noise_ratio=0.2, cycles=20, correlation=0.0)
    study.technology_facts = {
        "tcp-python": Facts("python"),
        "quic-aioquic": Facts("python", "tcp", "tcp-python"),
    }
    (group,) = study.technology_groups()
    found = [load.read_cycles_ns("median") for load in group.loads]
    assert any(found[2][cycle] < found[0][cycle] for cycle in found[0])
    assert share(study)[1] == 20


def make_two_states() -> SyntheticResults:
    """The trials of TCP take 6 us in 3 cycles and 24 us in 5, with a fourth of the round trips."""
    fast, slow = (
        make_technology_results((Technology(base_ns=base), REDIS), sizes=(64,), samples=samples)
        for base, samples in ((6_000.0, 8_000), (24_000.0, 2_000))
    )
    for place, one in enumerate(slow.records):
        if one.cycle >= 3:
            fast.records[place] = one
            fast._series[place + 1] = slow._series[place + 1]
    return fast


def test_each_trial_has_the_same_weight_however_short_its_round_trips_are() -> None:
    study = make_study(make_two_states())
    tcp = find_technology(study, "native")
    assert tcp.median_ns.median == pytest.approx(24_000, rel=0.05)
    (pooled,) = (one.result.tail for one in study.message_tails() if one.result.setup == tcp.setup)
    assert (pooled.quantiles[0].value or 0) < 12_000  # 24,000 of 34,000 round trips are short
    curve = zip(tcp.tail.values, tcp.tail.above_ratio, strict=True)
    above = next(share for value, share in curve if value > 12_000)
    assert above == pytest.approx(5 / 8, abs=0.05)  # 10,000 / 34,000 where round trips weigh alike
    assert tcp.place == 2
    assert tcp.tail.n == round(8 * 8 / (3 / 8_000 + 5 / 2_000))  # the effective number


def test_a_technology_that_is_not_installed_here_has_round_trips_and_no_overhead() -> None:
    study = measure()
    study.technology_facts = {}
    assert study.technology_overhead() == ()
    redis = find_technology(study, "redis")
    assert (redis.language, redis.adds) == (None, ())
    study.technology_facts = {"redis": Facts()}
    assert len(study.technology_overhead()) == 0  # answered before
    study.reread()
    assert len(study.technology_overhead()) == 1


def test_a_technology_whose_trials_all_failed_is_last_and_undecided() -> None:
    results = make_technology_results((TCP, REDIS), sizes=(64,), histograms=False, cycles=2)
    results.change_trials(lambda one: one if one.adapter_versions else replace(one, flags=("rate-missed",)))
    study = make_study(results)
    redis, tcp = (one.result for one in study.technologies())
    assert (redis.technology, tcp.technology) == ("redis", "tcp")
    assert (tcp.trials, tcp.missed, tcp.undecided) == (0, 2, Undecided.NOT_MEASURED)
    assert study.technology_overhead() == ()


def test_load_is_compared_with_none_in_pairs_of_a_cycle() -> None:
    study = measure(settings=[{"background": load} for load in LOADS], noise_ratio=0.003, cycles=12)
    found = {
        (one.result.technology, one.result.ratio.level, one.result.ratio.metric): one.result.ratio
        for one in study.loaded_round_trips()
    }
    assert len(found) == 2 * 4 * 2
    ratio = found["redis", "combined", "round-trip-p99"]
    assert (ratio.pairs, ratio.baseline, ratio.verdict) == (12, "none", ChangeVerdict.WORSE)
    assert ratio.interval.contains(2.0)
    assert found["tcp", "disk", "round-trip-median"].verdict is ChangeVerdict.EQUIVALENT


def test_priority_is_compared_with_ordinary_scheduling() -> None:
    settings = [{"background": "combined", "priority": level} for level in (None, 50)]
    found = [one.result for one in measure(settings=settings, noise_ratio=0.003).loaded_round_trips()]
    assert {(one.factor, one.ratio.name) for one in found} == {("priority", "50 : none")}
    assert {one.ratio.verdict for one in found} == {ChangeVerdict.BETTER}
    assert {one.group for one in found} == {""}


def test_loads_are_listed_by_size_and_from_low_to_high() -> None:
    settings = [{"background": load} for load in ("none", "cpu")]
    study = measure((REDIS, TCP), settings=settings, sizes=(1024, 64))
    found = [(one.result.message_bytes, one.result.technology) for one in study.loaded_round_trips()]
    assert list(dict.fromkeys(found)) == [(64, "tcp"), (64, "redis"), (1024, "tcp"), (1024, "redis")]


def test_each_metric_and_path_is_a_family_of_its_own() -> None:
    """One row of a metric has no correction, whatever other metrics there are."""
    settings = [{"background": load} for load in ("none", "cpu")]
    found = measure((TCP,), settings=settings, cycles=12).loaded_round_trips()
    levels = {one.result.ratio.metric: one.result.ratio.interval.confidence_ratio for one in found}
    assert levels == {"round-trip-median": 0.95, "round-trip-p99": 0.95}


def test_settings_of_some_transports_alone_are_not_named_under_load() -> None:
    """TCP alone has a choice to send at once."""
    unix = Technology({"transport": "unix", "no_delay": False}, 3_000.0)
    settings = [{"background": load} for load in ("none", "cpu")]
    found = measure((TCP, unix, REDIS), settings=settings).loaded_round_trips()
    assert {one.result.technology for one in found} == {"tcp", "unix", "redis"}


def test_cores_are_named_where_all_have_the_same() -> None:
    """They decide the order of technologies."""
    for cores, name in ((("0", "1"), "cores 0 and 1"), (("1", "1"), "core 1 for both ends")):
        settings = [dict(zip(("cpus_sender", "cpus_receiver"), cores, strict=True))]
        (group,) = measure(settings=settings).technology_groups()
        assert group.name == name
    (group,) = measure().technology_groups()
    assert group.name == ""
