"""iperf3 as an engine: its arguments, and what its JSON becomes."""

import contextlib
import copy
import dataclasses
import itertools
import math
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from pathlab.engines.iperf3 import client_arguments, convert_output, server_arguments
from pathlab.engines.spec import Allowed, TrialSpec
from pathlab.errors import HostError
from tests.builders.campaigns import make_spec
from tests.builders.spoiling import list_spoilings, set_value

S = 10**9
SPEC = make_spec({"interval": "100ms"}, streams=2, warmup_ns=S // 5, duration_ns=S, engine="iperf3")
ALLOWED = Allowed(probe_method="icmp", congestion="cubic")


def spec_with(**settings: Any) -> TrialSpec:
    return dataclasses.replace(SPEC, cell=dataclasses.replace(SPEC.cell, **settings))


def test_both_ends_get_the_same_settings() -> None:
    server, client = server_arguments(SPEC), client_arguments(SPEC, ALLOWED, 5201)
    assert server == ["-s", "-1", "-J", "-i", "0.1", "-B", "192.0.2.2"]
    assert " ".join(client) == "-c 192.0.2.2 -B 192.0.2.1 -p 5201 -J -t 2 -i 0.1 -P 2 -C cubic"


def test_every_setting_that_it_knows_is_passed_on() -> None:
    spec = spec_with(
        window_sender_bytes=65536,
        window_receiver_bytes=65536,
        write_bytes=1000,
        dscp=8,
        mss_bytes=1400,
        pacing_bits_per_s=10**7,
        no_delay=True,
        zero_copy=True,
        direction="reverse",
    )
    words = client_arguments(spec, ALLOWED, 5201)
    pairs = dict(itertools.pairwise(words))
    expected = {"-w": "65536", "-l": "1000", "--dscp": "8", "-M": "1400", "-b": "5000000"}  # -b: of a stream
    assert expected.items() <= pairs.items()
    assert words[-3:] == ["-R", "-N", "-Z"]


def stream(socket: int, start: float, size: int) -> dict[str, Any]:
    reported = {"rtt": 20000, "snd_cwnd": 9} | ({"retransmits": 2} if socket == 5 else {})
    return {"socket": socket, "start": start, "end": start + 0.1, "bytes": size, **reported}


def output_of(intervals: int = 14) -> dict[str, Any]:
    """What iperf3 prints, in the form of its sources: two streams, the second one listed first."""
    ends = [
        {
            name: {"socket": number, "bytes": 1000 * number, "retransmits": 3}
            for name in ("sender", "receiver")
        }
        for number in (7, 5)
    ]
    return {
        "start": {
            "version": "iperf 3.12",
            "sndbuf_actual": 16384,
            "rcvbuf_actual": 131072,
            "tcp_mss_default": 1448,
            "test_start": {"protocol": "TCP", "num_streams": 2, "blksize": 131072},
        },
        "intervals": [
            {
                "streams": [stream(7, n / 10, 200), stream(5, n / 10, 100)],
                "sum": {"start": n / 10, "end": n / 10 + 0.1},
            }
            for n in range(intervals)
        ],
        "end": {
            "streams": ends,
            "cpu_utilization_percent": {"host_user": 10.0, "host_system": 50.0},
            "sender_tcp_congestion": "cubic",
        },
    }


def test_its_json_becomes_records_of_our_engine() -> None:
    hello, ready, start, *intervals, result = convert_output(output_of(), SPEC, ended_ns=9 * S, sends=True)
    assert hello["version"] == "iperf 3.12"
    assert (ready["streams"], ready["transport"], ready["sockets"][1]["congestion"]) == (2, "tcp", "cubic")
    assert ready["congestion"] == "cubic"
    assert start["monotonic_ns"] == 9 * S - 1_400_000_000
    phases = [interval["phase"] for interval in intervals]
    assert phases == ["warmup"] * 2 + ["steady"] * 10 + ["drain"] * 2
    steady = result["phases"]["steady"]
    assert (steady["start_ns"], steady["end_ns"]) == (200_000_000, 1_200_000_000)
    assert steady["bytes"] == [1000, 2000]  # by socket, whatever the order in the file
    assert result["total_bytes"] == [5000, 7000]
    assert result["workers"] == [{"user_ns": 140_000_000, "system_ns": 700_000_000}]
    assert result["tcp_info"] == {"total_retrans_segments": [3, 3]}
    assert intervals[0]["tcp_info"]["rtt_us"] == [20000, 20000]
    assert intervals[2]["tcp_info"]["total_retrans_segments"] == [6, None]
    assert intervals[0]["tcp_info"]["unacked_segments"] == [None, None]  # it does not tell


@pytest.mark.parametrize("sends", [True, False])
def test_json_that_lacks_something_is_one_clear_line(sends: bool) -> None:
    """Each key left out, and each value replaced by one that cannot be: read, or refused."""
    refused = set()
    for path, new in list_spoilings(output_of(2)):
        output = output_of(2)
        set_value(output, path, new)
        try:
            convert_output(output, SPEC, ended_ns=S, sends=sends)
        except HostError as error:
            refused.add((path, "JSON that cannot be read" in error.reason))
    assert {(("end",), True), (("start", "test_start"), True), (("intervals", 0, "sum"), True)} <= refused
    assert all(is_clear for _, is_clear in refused)


def test_a_stream_that_is_missing_is_not_counted_as_nothing() -> None:
    output = output_of()
    output["intervals"][4]["streams"].pop()
    with pytest.raises(HostError, match="1 streams where there are 2"):
        convert_output(output, SPEC, ended_ns=S, sends=True)
    with pytest.raises(HostError, match="no intervals"):
        convert_output(output_of(0), SPEC, ended_ns=S, sends=False)


def list_paths(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to each value below a JSON value."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield (*path, key)
        yield from list_paths(node[key], (*path, key))


@pytest.mark.parametrize("value", [None, "x", -1, 2**64, 1e400, math.nan, [], {}, True, [[]]], ids=repr)
def test_a_hostile_value_anywhere_fails_the_trial_at_most(value: Any) -> None:
    whole = output_of(2)
    for *parents, last in list_paths(whole):
        changed = copy.deepcopy(whole)
        inner = reduce(getitem, parents, changed)
        inner[last] = value
        for sends in (True, False):
            with contextlib.suppress(HostError):
                convert_output(changed, SPEC, ended_ns=9 * S, sends=sends)
