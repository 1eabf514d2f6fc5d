"""Files as people have them: of older versions, within logs, with totals that are missing or contradict."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pathlab.campaign.factors import FACTORS
from pathlab.campaign.quantities import Bounds
from pathlab.errors import StoreError
from pathlab.store.flags import Flag
from pathlab.store.imported_trial import LEVEL_BOUNDS, ImportedTrial
from pathlab.store.importing import read_file, store_files
from pathlab.study.analyses import StudiedResults
from tests.builders.foreign_files import (
    Node,
    change,
    make_crusader,
    make_flent,
    make_iperf3,
    make_iperf3_bidir,
    make_iperf3_udp,
    make_irtt,
    make_json_stream,
    make_pscheduler,
    make_pscheduler_rtt,
    read_node,
)
from tests.builders.stored import make_results

#: Rate of the builders' forward test: 4000 bytes of two streams in 2 s.
RATE = 16_000.0


def write_old_bidir() -> str:
    """As 3.7 to 3.10 write it: every sum twice under one name, the upload's first; no key says ``bidir``."""
    node = make_iperf3_bidir(named=False)
    for interval in node["intervals"]:
        del interval["sum_bidir_reverse"]
    end, backs = node["end"], {}
    for key in ("sum_sent", "sum_received"):
        backs[key] = {**end.pop(f"{key}_bidir_reverse"), "sender": False}
        end[key]["sender"] = True
    first = json.dumps(node)
    second = ", ".join(f'"{key}": {json.dumps(value)}' for key, value in backs.items())
    return first.replace('"cpu_utilization_percent"', f'{second}, "cpu_utilization_percent"', 1)


def drop(node: Node, *keys: str) -> Node:
    """The node without these keys of its end."""
    changed = copy.deepcopy(node)
    for key in keys:
        del changed["end"][key]
    return changed


@pytest.mark.parametrize("reader", [str, lambda text: json.dumps(json.loads(text))], ids=["iperf3", "jq"])
def test_both_directions_of_an_older_version_keep_their_own_sums(
    tmp_path: Path, reader: Callable[[str], str]
) -> None:
    """A program that reads and writes JSON keeps the last of two keys, which is the download's."""
    forward, reverse = read_node(tmp_path, reader(write_old_bidir()))
    whole = read_node(tmp_path, make_iperf3_bidir(named=True))
    assert [one.record.throughput_bits_per_s for one in (forward, reverse)] == [8000.0, 2400.0]
    assert [one.record.received_steady_bytes for one in (forward, reverse)] == [2000, 600]
    for ours, known in zip((forward, reverse), whole, strict=True):
        assert ours.settings == known.settings
        for kind, table in ours.series.items():
            assert table.equals(known.series[kind])


LOST = make_iperf3_udp(received=None)
MISSING: dict[str, tuple[Node, float, tuple[str, ...]]] = {
    "sums of streams": (drop(make_iperf3(), "sum_sent", "sum_received"), RATE, (Flag.TOTAL_COMPUTED,)),
    "the sum that arrived": (drop(make_iperf3(), "sum_received"), RATE, (Flag.TOTAL_COMPUTED,)),
    "all but intervals": (
        change(
            drop(make_iperf3(reverse=1), "sum_sent", "sum_received"),
            "end.streams",
            [{"sender": {"sender": False}}] * 2,
        ),
        16_008.0,
        (Flag.TOTAL_COMPUTED,),
    ),
    # 2000 bytes sent in 20 datagrams, 3 lost
    "the receiver's count of UDP": (LOST, 6800.0, (Flag.TOTAL_COMPUTED,)),
    "every sum of UDP": (drop(LOST, "sum"), 6800.0, (Flag.TOTAL_COMPUTED,)),
    "the receiver's report": (change(LOST, "end.sum.lost_packets", None), 8000.0, (Flag.SENDER_COUNTED,)),
    "the sum of pScheduler": (
        change(make_pscheduler(diags=False), "result.summary.summary", {"start": 0, "end": 2}),
        16_000.0,
        (Flag.SENDER_COUNTED, Flag.TOTAL_COMPUTED),
    ),
    "all but pScheduler's intervals": (
        change(make_pscheduler(diags=False), "result.summary", {"streams": []}),
        16_000.0,
        (Flag.SENDER_COUNTED, Flag.TOTAL_COMPUTED),
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_total_is_computed_from_its_parts_and_flagged(tmp_path: Path, name: str) -> None:
    node, rate, flags = MISSING[name]
    if name == "the receiver's report":
        node["end"]["streams"][0]["udp"]["lost_packets"] = None
    (trial,) = read_node(tmp_path, node)
    assert trial.record.throughput_bits_per_s == pytest.approx(rate)
    assert trial.record.flags == (Flag.IMPORTED, *flags)


def sum_flent(value: float) -> Node:
    node = make_flent()
    node["results"]["TCP download sum"] = [None, value, value]
    return node


def replace_bytes(node: Any, value: int | None) -> Any:
    """The same with another number of bytes everywhere."""
    if isinstance(node, list):
        return [replace_bytes(item, value) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: value if key == "bytes" else replace_bytes(item, value) for key, item in node.items()}


CONTRADICTIONS: dict[str, Node] = {
    "received": change(make_iperf3(), "end.sum_received.bytes", 40_000),
    "sent": change(make_iperf3(), "end.sum_sent.bytes", 420),
    "rate": change(make_iperf3(), "end.sum_received.bits_per_second", 99_000.0),
    "intervals": change(make_iperf3(streams=1, omit=0), "intervals.0.streams.0.bytes", 90_000),
    "datagrams": change(make_iperf3_udp(received=1700), "end.sum_received.lost_packets", 15),
    "both ways": change(make_iperf3_bidir(named=True), "end.sum_received.bytes", 600),
    "pscheduler streams": change(
        make_pscheduler(diags=False), "result.summary.summary.throughput-bits", 160_000.0
    ),
    "pscheduler bytes": change(make_pscheduler(diags=False), "result.summary.summary.throughput-bytes", 77),
    "pscheduler rtt": change(make_pscheduler_rtt(), "result.loss", 0.0),
    "irtt": change(make_irtt(), "stats.packets_received", 400),
    "flent": sum_flent(160.0),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_total_that_contradicts_its_parts_is_flagged_and_counts_nowhere(tmp_path: Path, name: str) -> None:
    path = tmp_path / "given.json"
    path.write_text(json.dumps(CONTRADICTIONS[name]), encoding="utf-8")
    file = read_file(path)
    flagged = [trial for trial in file.trials if Flag.TOTALS_DIFFER in trial.record.flags]
    assert len(flagged) == 1
    assert flagged[0].details["notes"]
    with make_results(tmp_path / "into") as results:
        store_files(results, [file])
    with StudiedResults.open(tmp_path / "into") as stored:
        taken = sum(len(cell.shown) for one in stored.conditions() for cell in one.all_cells)
    assert taken <= len(file.trials) - 1


@pytest.mark.parametrize("count", [None, -5])
def test_without_any_bytes_no_rate_is_made_up(tmp_path: Path, count: int | None) -> None:
    (trial,) = read_node(tmp_path, replace_bytes(make_iperf3(), count))
    assert trial.record.throughput_bits_per_s is None
    assert any("have no number of bytes" in note for note in trial.details["notes"])


@pytest.mark.parametrize(
    ("node", "column", "note"),
    [
        (
            change(make_iperf3(), "end.sum_sent.retransmits", -7),
            "retransmitted_steady_segments",
            "retransmits below 0",
        ),
        (
            change(make_iperf3_udp(received=1700), "end.sum_received.jitter_ms", -2.5),
            "udp_jitter_ns",
            "jitter_ms below 0",
        ),
        (
            json.dumps(make_iperf3()).replace('"mean_rtt": 40000', '"mean_rtt": Infinity'),
            "failure",
            "that are none",
        ),
        (
            json.dumps(make_iperf3()).replace('"mean_rtt": 40000', '"mean_rtt": 1e400'),
            "failure",
            "that are none",
        ),
    ],
)
def test_figures_outside_their_domain_are_left_out_with_a_note(
    tmp_path: Path, node: Any, column: str, note: str
) -> None:
    (trial,) = read_node(tmp_path, node)
    assert getattr(trial.record, column) is None
    assert any(note in one for one in trial.details["notes"])


@pytest.mark.parametrize("lost", [99_000, -3])
def test_an_impossible_loss_of_datagrams_is_left_out_with_a_note(tmp_path: Path, lost: int) -> None:
    node = change(make_iperf3_udp(received=1700), "end.sum_received.lost_packets", lost)
    (trial,) = read_node(tmp_path, node)
    assert trial.record.udp_lost_packets is None
    assert f"{lost:,} of 20 datagrams lost is impossible and was left out" in trial.details["notes"]


def test_agreeing_totals_are_not_flagged(tmp_path: Path) -> None:
    nodes: list[Any] = [make_iperf3(), make_iperf3(reverse=1), make_iperf3_bidir(named=True), sum_flent(16.0)]
    nodes += [make_iperf3_udp(received=1700), make_pscheduler(diags=False), make_irtt(), make_crusader()]
    nodes += [change(make_pscheduler_rtt(), "result.loss", 1 / 3), write_old_bidir()]
    for node in nodes:
        for trial in read_node(tmp_path, node):
            assert Flag.TOTALS_DIFFER not in trial.record.flags
            assert "notes" not in trial.details


@pytest.mark.parametrize("form", ["rate", "count", "bits"])
def test_bytes_of_a_pscheduler_row_are_read_as_its_tool_means_them(tmp_path: Path, form: str) -> None:
    """iperf 2's parser writes bytes per second, iperf3's a count, nuttcp's none; streams in any order."""
    node = make_pscheduler(diags=False)
    for index, interval in enumerate(node["result"]["intervals"]):
        for stream, rate in zip(interval["streams"], (80e6, 20e6), strict=True):
            stream |= {"start": 10 * index, "end": 10 * index + 10, "throughput-bits": rate}
            stream["throughput-bytes"] = rate / 8 * (10 if form == "count" else 1)
            if form == "bits":
                del stream["throughput-bytes"]
    node["result"]["intervals"][1]["streams"].reverse()
    totals = [{"stream-id": n, "throughput-bits": rate} for n, rate in ((5, 80e6), (7, 20e6))]
    whole = {"start": 0, "end": 20, "throughput-bits": 100e6, "receiver-throughput-bits": 100e6}
    node["result"]["summary"] = {"streams": totals, "summary": whole}
    (trial,) = read_node(tmp_path, node)
    rows = trial.series["sender_intervals"].to_pydict()
    assert (rows["stream"], rows["bytes"]) == ([0, 1] * 2, [100_000_000, 25_000_000] * 2)
    assert Flag.TOTALS_DIFFER not in trial.record.flags


def set_start(key: str, value: Any) -> Node:
    node = make_iperf3()
    node["start"]["test_start"][key] = value
    return node


OUTSIDE: dict[str, tuple[Node, str]] = {
    "tos above 32 bits": (set_start("tos", 545460846592), "dscp"),
    "tos above a byte": (set_start("tos", 4096), "dscp"),
    "tos below 0": (set_start("tos", -256), "dscp"),
    "rate": (set_start("target_bitrate", 10**15), "stream_target_bits_per_s"),
    "write": (set_start("blksize", 2**40), "write_bytes"),
    "bytes": (set_start("bytes", 2**62), "transfer_bytes"),
    "streams": (set_start("num_streams", 10**9), "streams"),
    "window": (change(make_iperf3(), "start.sock_bufsize", 2**40), "window_bytes"),
    "pscheduler dscp": (change(make_pscheduler(diags=False), "test.spec.dscp", 184), "dscp"),
    "pscheduler mss": (change(make_pscheduler(diags=False), "test.spec.mss", 10**6), "mss_bytes"),
    "irtt dscp": (change(make_irtt(), "config.params.dscp", 4096), "dscp"),
    "crusader stagger": (change(make_crusader(), "config.stagger.secs", 10**6), "stagger_ns"),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_setting_outside_its_domain_is_left_out_with_a_note(tmp_path: Path, name: str) -> None:
    node, setting = OUTSIDE[name]
    for trial in read_node(tmp_path, node):
        assert trial.settings.get(setting) == (2 if setting == "streams" else None)
        (note,) = trial.details["notes"]
        assert "left out" in note or "low byte 0 was read" in note


def test_no_setting_of_a_file_goes_beyond_that_of_a_campaign() -> None:
    for name, (_, most) in LEVEL_BOUNDS.items():
        level = FACTORS[name].level if name in FACTORS else None
        if isinstance(level, Bounds):
            assert level.most == most, name


BEHIND = "iperf3: error - unable to send control message: Broken pipe\n"
WHOLE = json.dumps(make_iperf3(), indent=1)
OTHER = json.dumps(make_iperf3(reverse=1), indent=1)
BOTH = ["forward", "2-reverse"]
TEXTS: dict[str, tuple[str | bytes, list[str]]] = {
    "behind": (f"{WHOLE}\n{BEHIND}", ["forward"]),
    "ahead": (f"warning: this system does not seem to support IPv6\n{WHOLE}", ["forward"]),
    "log": (f"$ iperf3 -c b -J {{x}}\n{WHOLE}\n$ iperf3 -c b -J -R\n{OTHER}\n$ exit\n", BOTH),
    "compact log": (
        f"12:00 INFO {json.dumps(make_iperf3())}\n[12:01] INFO {json.dumps(make_iperf3())}",
        ["forward", "2-forward"],
    ),
    "killed, then again": (f"{WHOLE[:900]}\nTerminated\n{OTHER}", ["reverse"]),
    "array": (f"[{WHOLE},{OTHER}]", BOTH),
    "array of pscheduler": (json.dumps([make_pscheduler(diags=False)] * 2), ["forward", "2-forward"]),
    "two programs": (f"{json.dumps(make_irtt())}\n{WHOLE}", ["forward", "probes"]),
    "stream in a log": (f"start\n{make_json_stream(make_iperf3())}end\n", ["forward"]),
    "utf-16": (WHOLE.replace("\n", "\r\n").encode("utf-16"), ["forward"]),
    "utf-16 big": (b"\xfe\xff" + WHOLE.encode("utf-16-be"), ["forward"]),
    "utf-16 without a mark": (WHOLE.encode("utf-16-le"), ["forward"]),
    "utf-16 big without a mark": (WHOLE.encode("utf-16-be"), ["forward"]),
    "utf-32": (WHOLE.encode("utf-32"), ["forward"]),
    "utf-8 with a mark": (WHOLE.encode("utf-8-sig"), ["forward"]),
    "gzip twice": (gzip.compress(WHOLE.encode()) + gzip.compress(OTHER.encode()), BOTH),
    **{
        f"number {word}": (WHOLE.replace('"mean_rtt": 40000', f'"mean_rtt": {word}'), ["forward"])
        for word in ("-nan", "nan", "inf", "-inf", "-nan(ind)", "1.#QNAN", "-1.#IND", "Infinity", "4.0e 04")
    },
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_around_json_costs_nothing(tmp_path: Path, name: str) -> None:
    content, parts = TEXTS[name]
    path = tmp_path / "given.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    trials = read_file(path).trials
    assert [trial.part for trial in trials] == parts
    known: dict[str, ImportedTrial] = {}
    for node in (make_iperf3(), make_iperf3(reverse=1), make_irtt(), make_pscheduler(diags=False)):
        known |= {one.program + one.part: one for one in read_node(tmp_path, node)}
    for trial in trials:
        same = known[trial.program + trial.part.removeprefix("2-")]
        assert trial.record == same.record
        assert all(table.equals(same.series[kind]) for kind, table in trial.series.items())


def test_only_the_value_that_is_no_number_is_lost(tmp_path: Path) -> None:
    """Texts that look like one stay, and so does the place that a later fault is named at."""
    node = make_iperf3() | {"title": 'a "nan", -inf, \\'}
    text = json.dumps(node, indent=1).replace('"rtt": 40000', '"rtt": -nan', 1)
    (trial,) = read_node(tmp_path, text)
    rtts = trial.series["sender_intervals"].to_pydict()["rtt_us"]
    assert rtts == [None, *[40_000] * 5]
    assert trial.details["title"] == node["title"]
    assert trial.details["notes"] == ["numbers that are none, such as -nan, were left out"]


PLAIN = {
    "iperf3": "Connecting to host b, port 5201\n[  5]   0.00-1.00   sec  1.10 MBytes  9.2 Mbits/sec    0\n",
    "iperf 2": "[ ID] Interval    Transfer   Bandwidth\n[  3]  0.0-10.0 sec  1.1 GBytes   941 Mbits/sec\n",
    "iperf 2's CSV": "20251124100000,192.0.2.1,40000,192.0.2.2,5001,3,0.0-10.0,1180000000,944000000\n",
    "iperf 2.1's CSV": "20251124100000.120,2001:db8::1,40000,2001:db8::2,5001,3,0.0-10.0,118,94\n",
    "nuttcp": " 1126.18 MB /  10.02 sec =  942.5 Mbps 4 %TX 30 %RX 0 retrans 0.24 msRTT\n",
    "netperf": "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET\n87380 16384 16384 10.0 941.2\n",
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_text_is_refused_with_the_option_that_gives_json(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match=name.split("'", maxsplit=1)[0].rstrip("0123456789. ")) as caught:
        read_node(tmp_path, PLAIN[name])
    assert "--json" in str(caught.value.hint)
