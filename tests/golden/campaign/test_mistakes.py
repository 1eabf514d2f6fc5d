"""What is said of mistakes in a campaign: in factors, levels, designs, paths, conduct and searches."""

from typing import Any

import pytest

from pathlab.campaign.design import list_cells
from pathlab.campaign.levels import expand_range
from pathlab.campaign.order import plan_rows
from pathlab.errors import UsageError
from tests.builders.campaigns import list_mistakes, make_sample
from tests.golden.conftest import Say, catch
from tests.unit.campaign.test_background import make_tables
from tests.unit.campaign.test_levels import unit_of
from tests.unit.campaign.test_search import list_search_mistakes

HOSTS: dict[str, Any] = {name: {"transport": "local"} for name in ("far", "c", "d", "e")}
NEAR = {"source": "local", "destination": "local"}
THERE = {"source": "local", "destination": "far"}
BACK = {"source": "far", "destination": "local", "connect_from": "receiver"}
STAR = {"source": "local", "destination": "far", "sinks": ["c", "d"]}
KNOWN = {**NEAR, "rtt": "40ms", "capacity": "80Mbit/s"}
ROWS = [{"streams": 2, "window": "256KiB"}, {"streams": 8, "window": "64KiB"}]
TWO = {"streams": [1, 2]}
BOTH_ENGINES = {"streams": 1, "engine": ["native", "iperf3"]}
PAIRS = {
    "near": {"source": "127.0.0.1", "destination": "127.0.0.2"},
    "six": {"source": "::1", "destination": "::1"},
}
IPERF3 = {
    "streams": [1, 200],
    "engine": ["native", "iperf3"],
    "direction": ["forward", "both"],
    "workers": ["auto", 2],
}


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("streams", "8..1"),
        ("streams", "1..8 step 0"),
        ("streams", "1..8 step x1"),
        ("streams", "0..8 step x2"),
        ("streams", "1..x"),
        ("streams", "1..8 by 2"),
        ("streams", ".."),
        ("window", "64KiB..1MB step x1.5"),
        ("window", "1KiB..1GiB"),
        ("duration", "1..5"),
    ],
)
def test_range(say: Say, key: str, text: str) -> None:
    say(catch(UsageError, expand_range, text, unit_of(key)))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("transport", "sctp"),
        ("message", "3B"),
        ("message_rate", 0),
        ("batch_max_delay", 5),
        ("encoding", "json"),
        ("placement", "apart"),
        ("wait", "spin"),
        ("priority", 99),
        ("direction", "back"),
        ("dscp", 64),
        ("dscp", "XX"),
        ("pacing", "fast"),
        ("mss", 40),
        ("no_delay", "yes"),
        ("workers", 0),
        ("cpus", "all"),
        ("cpus", "0,3-1"),
        ("engine", "iperf2"),
        ("family", "ipv5"),
        ("duration", 5),
    ],
)
def test_level(say: Say, key: str, value: object) -> None:
    say(list_mistakes(factors={"streams": 1, key: value})[0])


@pytest.mark.parametrize(
    "factors",
    [
        {"window": "64KiB", "window_sender": "auto"},
        {"cpus": "0", "cpus_receiver": "1"},
        {"duration": ["1s", "1000ms"]},
        {"addresses": "fast"},
        {"streams": "8..1"},
        {"streams": "1000..5000 step 1000"},
        {"engine": "iperf3", "window_sender": "64KiB"},
        {"engine": "iperf3", "build": ["this", "again"]},
        {"engine": "iperf3", "recording": ["default", "off"]},
        {**BOTH_ENGINES, "message": 64},
        {"transport": "udp", "datagram": 31},
        {"transport": "udp", "datagram": 65508},
        {"transport": "udp", "pacing": "1Mbit/s", "pacing_by": "fq"},
        {"transport": "udp", "ecn": 4},
    ],
)
def test_factors(say: Say, factors: dict[str, Any]) -> None:
    say(list_mistakes(factors={"streams": 1, **factors}))


@pytest.mark.parametrize(
    "level",
    [
        {"streams": 129},
        {"direction": "both"},
        {"transport": "mptcp"},
        {"window": "513MiB"},
        {"write": "2MiB"},
        {"mss": "9217B"},
        {"duration": "24h"},
        {"workers": 2},
        {"cpus": "0"},
        {"cpus_receiver": "0"},
    ],
)
def test_what_iperf3_does_not_support(say: Say, level: dict[str, Any]) -> None:
    say(list_mistakes(factors={**BOTH_ENGINES, **level}))
    make_sample(factors={**BOTH_ENGINES, **level, "engine": "native"})  # which does all of it


@pytest.mark.parametrize(
    "changes",
    [
        {"design": "explicit", "rows": [], "factors": {"streams": 1}},
        {"rows": ROWS, "factors": TWO},
        {"design": "explicit", "rows": ROWS, "where": "streams > 1", "factors": {}},
        {"design": "explicit", "rows": [*ROWS, {"streams": 4}], "factors": {}},
        {"design": "explicit", "rows": [{"streams": 4, "window": "1B"}], "factors": {}},
        {"design": "lhs", "factors": TWO},
        {"design": "fraction", "factors": TWO},
        {"design": "fraction", "fraction": 0, "factors": TWO},
        {"points": 5, "factors": TWO},
        {"block": "cycle+hour", "order": "given", "factors": TWO},
        {
            **{"design": "fraction", "points": 5},
            "factors": {"streams": "1..4096", "window": "1KiB..1MiB step 1KiB"},
        },
        {
            **{"cycles": 2000, "design": "fraction", "fraction": "50%"},
            "factors": {"streams": "1..400", "congestion": ["a", "b", "c"]},
        },
        {"control": {"every": 1}},
        {
            "factors": {**TWO, "engine": ["native"], "workers": ["auto"]},
            "control": {"every": 2, "engine": "iperf3", "workers": 2},
        },
        {
            **{"factors": {}, "design": "explicit"},
            "rows": [{"streams": 1, "engine": "native"}, {"streams": 200, "engine": "iperf3"}],
        },
        {"factors": TWO, "where": ["streams > 1", "streams < 2"]},
        {"where": ["streams >", "stream > 1", "transport == 'tcp'", "streams > 0"]},
        {"factors": IPERF3},
    ],
)
def test_design(say: Say, changes: dict[str, Any]) -> None:
    say(list_mistakes(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"compare": "no_delay"},
        {"compare": "no_delay", "factors": {"streams": 1, "no_delay": True}},
        {"compare": "speed"},
        {"compare": "streams", "factors": {"streams": [1, 4], "window": ["64KiB", "1MiB"]}},
        {"compare": "window", "factors": {"streams": [1, 4], "window": ["64KiB", "1MiB"]}},
        {"factors": {"streams": 1, "recording": ["off", "full"]}, "safety_limits": {"loss": "10%"}},
        {"safety_limits": {"loaded_rtt": "1500ms"}},
        {"safety_limits": {"loaded_rtt": "1s"}},
        {"until": "5% of the mean", "cycles_max": 9},
        {"until": "0% of the median", "cycles_max": 9},
        {"until": "5% of the median"},
        {"until": "5% of the median", "cycles_max": 9, "cycles_min": 10},
        {"cycles_max": 9},
        {"every_jitter": "1min"},
        {"every": "1h", "every_jitter": "60min"},
        {"every": "1min", "trial": {"duration": "2min"}},
        {"budget": {"hours": "25:00-26:00"}},
        {"budget": {"hours": ["22:00-06:00", "noon"]}},
        {"budget": {"hours": "12:00-12:10"}, "trial": {"duration": "20min"}},
        {"budget": {"rate": "5Mbit/s"}, "factors": {"streams": 1, "pacing": ["1Mbit/s", "6Mbit/s"]}},
        {
            **{"budget": {"bytes_per_campaign": "72MB"}, "cycles": 4},
            **{"paths": [KNOWN], "factors": {"streams": 1, "window": "64KiB"}},
        },
        {"budget": {"bytes_per_day": "18MB"}, "paths": [KNOWN], "factors": {"streams": 1, "window": "64KiB"}},
        {"budget": {"bytes_per_day": "1GB"}, "factors": BOTH_ENGINES},
    ],
)
def test_conduct(say: Say, changes: dict[str, Any]) -> None:
    say(list_mistakes(**changes))


def test_a_cycle_whose_trials_run_at_once_fits_a_shorter_period(say: Say) -> None:
    two = [KNOWN, {**KNOWN, "source": "c", "destination": "d"}]
    requested = {"every": "3min", "trial": {"duration": "2min"}, "paths": two, "hosts": HOSTS}
    say(list_mistakes(**requested)[0])
    make_sample(**requested, concurrency=2)


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ({"source_address": "127.0.0.1", "destination_address": "::1"}, "any"),
        ({"destination_address": "::1"}, ["ipv4", "ipv6"]),
        ({"addresses": {"mixed": {"source": "::1", "destination": "127.0.0.1"}}}, "any"),
    ],
)
def test_addresses(say: Say, path: dict[str, Any], family: Any) -> None:
    say(list_mistakes(paths=[{**NEAR, **path}], factors={"streams": 1, "family": family}))


LAB_OF_FOUR = {"hosts": ["a", "b", "c", "d"], "links": [{"between": ["a", "b"]}, {"between": ["c", "d"]}]}
LAB_PATH = {"source": "a", "destination": "b", "sinks": ["c"]}


@pytest.mark.parametrize(
    ("paths", "factors", "lab"),
    [
        ([{**NEAR, "addresses": PAIRS}], {"addresses": ["near", "far"]}, None),
        ([THERE, BACK], {"message": 64}, None),
        ([THERE, BACK], BOTH_ENGINES, None),
        ([STAR], {"streams": 3}, None),
        ([STAR], {"streams": [3, 4], "message": 64}, None),
        ([STAR], {"streams": 3, "message": 64, "transfer": "1MB"}, None),
        ([STAR], {"streams": 3, "message": 64, "placement": "process"}, None),
        ([{**STAR, "sinks": ["c", "f"]}], {"streams": 6, "message": 64}, None),
        ([{**STAR, "sinks": ["far"]}], {"streams": 6, "message": 64}, None),
        ([{**STAR, "sinks": ["c", "c"]}], {"streams": 6, "message": 64}, None),
        ([{**STAR, "source_address": "127.0.0.1"}], {"streams": 6, "message": 64}, None),
        ([LAB_PATH], {"streams": 2, "message": 64}, LAB_OF_FOUR),
        ([{**LAB_PATH, "sinks": ["local"]}], {"streams": 2, "message": 64}, LAB_OF_FOUR),
    ],
)
def test_paths(say: Say, paths: list[Any], factors: dict[str, Any], lab: dict[str, Any] | None) -> None:
    where = {"hosts": HOSTS} if lab is None else {"lab": lab}
    say(list_mistakes(paths=paths, factors={"streams": 1, **factors}, **where))


@pytest.mark.parametrize("transport", ["unix", "unix-datagram", "pipe", "shared-memory", "eventfd"])
def test_local_transports_need_one_host(say: Say, transport: str) -> None:
    factors = {"streams": 1, "message": [64, 128], "transport": ["tcp", transport]}
    make_sample(factors=factors, paths=[NEAR])
    say(list_mistakes(factors=factors, hosts=HOSTS, paths=[NEAR, THERE]))
    make_sample(factors={**factors, "placement": "process"}, hosts=HOSTS, paths=[NEAR, THERE])


@pytest.mark.parametrize(
    "tables",
    [
        make_tables("network"),
        make_tables(["none", "combined"], network_path="c:e"),
        make_tables("network", network_path="b:a"),
        make_tables("network", network_path="c:local"),
        make_tables("network", network_path="a:d"),
        {**make_tables("network", network_path="c:d"), "budget": {"bytes_per_campaign": "1GB"}},
        {**make_tables("cpu"), "concurrency": 2},
        make_tables("disk", disk_folder="tmp"),
        make_tables("disk", disk_write="5000B"),
    ],
)
def test_background(say: Say, tables: dict[str, Any]) -> None:
    say([found.strip() for found in list_mistakes(**tables)])


@pytest.mark.parametrize(
    "changes",
    [
        {"search": {"highest": "50Mbit/s"}},
        {"search": {"loss": 0}},
        {"search": {"resolution": "0.01%"}},
        {"search": {"trials_max": 2}},
        {"search": {"lost": 1}},
        {"factors": {"pacing": "10Mbit/s"}},
        {"factors": {"transport": "tcp"}},
        {"factors": {"message": "64B"}},
        {"factors": {"direction": ["forward", "both"]}},
        {"factors": {"transfer": "1MiB"}},
        {"until": "5% of the median", "cycles_max": 10},
        {"control": {"every": 2}},
        {"budget": {"rate": "100Mbit/s"}},
    ],
)
def test_search(say: Say, changes: dict[str, Any]) -> None:
    say(list_search_mistakes(**changes))


def test_too_few_packets_at_the_lowest_rate(say: Say) -> None:
    """One line, whose every remedy is enough."""
    few: dict[str, Any] = {"search": {"lowest": "1Mbit/s"}, "trial": {"duration": "2s"}}
    (mistake,) = list_search_mistakes(**few)
    say(mistake)
    for remedy in (
        {"search": {"lowest": "61900kbit/s"}},
        {"search": {"lowest": "1Mbit/s", "loss": "6.4%"}},
        {"trial": {"duration": "125s"}},
    ):
        assert not list_search_mistakes(**{**few, **remedy})


def test_what_these_tables_take_instead() -> None:
    assert make_sample().compare is None
    chosen = make_sample(compare="no_delay", factors={"streams": 1, "no_delay": [False, True]})
    assert chosen.compare == "no_delay"
    make_sample(factors={"streams": 1, "recording": ["default", "full"]}, safety_limits={"loss": "10%"})
    make_sample(safety_limits={"loaded_rtt": "999ms"})
    make_sample(safety_limits={"loaded_rtt": "1500ms"}, probes={"timeout": "4.5 s"})
    make_sample(factors={"streams": 1}, hosts=HOSTS, paths=[THERE, BACK])
    where = ["engine != 'iperf3' or streams <= 128 and direction != 'both' and workers == 'auto'"]
    engines = [cell.engine for cell in list_cells(make_sample(factors=IPERF3, where=where))]
    assert (engines.count("native"), engines.count("iperf3")) == (8, 1)


def test_a_control_row_takes_what_it_does_not_say_from_the_factors() -> None:
    factors = {"streams": "2..8 step x2", "window": ["auto", "64KiB"], "direction": ["both", "forward"]}
    first = plan_rows(make_sample(factors=factors, control={"every": 10}))[0].cell
    assert (first.streams, first.window_bytes, first.direction) == (2, None, "both")


def test_pairs_of_addresses_have_names() -> None:
    factors = {"streams": 1, "addresses": ["near", "six"]}
    rows = plan_rows(make_sample(paths=[{**NEAR, "addresses": PAIRS}], factors=factors, order="given"))
    assert [row.addresses for row in rows] == [("127.0.0.1", "127.0.0.2"), ("::1", "::1")]
    assert [row.settings["addresses"] for row in rows] == ["near", "six"]
