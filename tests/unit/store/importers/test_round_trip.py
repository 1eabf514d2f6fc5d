"""What is exported and imported again is the same trial, in every format that goes both ways."""

import dataclasses
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pathlab.analysis.estimators.fairness import jain_index
from pathlab.errors import StoreError
from pathlab.store.exporters import FORMAT_NAMES
from pathlab.store.exporting import load_format, select_trials
from pathlab.store.importing import list_importers, read_file
from pathlab.store.records import TrialRecord
from pathlab.store.results import Results
from pathlab.store.steady import measure_probes
from tests.builders.stored import CAMPAIGN, COMPLETE, PLAN

BOTH_WAYS = ("flent", "iperf3")
STREAMS = 3
#: Intervals by phase, and their lengths at each end: no round numbers, and the ends' clocks differ.
PHASES = ["warmup"] * 5 + ["steady"] * 20 + ["drain"] * 2
SENDER_NS, RECEIVER_NS = 100_003_117, 99_871_531
PLAIN: dict[str, Any] = {}
#: Columns of the row of the plan that an import makes for itself.
OWN = {"plan_row", "attempt", "cycle", "engine_version", "flags"}


def make_intervals(*, sender: bool) -> pa.Table:
    """Rates that change over the trial: a slow warm-up, a steady window with dips, a trickle at the end."""
    length_ns = SENDER_NS if sender else RECEIVER_NS
    rows = []
    for index, phase in enumerate(PHASES):
        share = {"warmup": 0.3, "steady": 1.0 - index % 7 / 20, "drain": 0.05}[phase]
        times = {"start_ns": index * length_ns, "end_ns": (index + 1) * length_ns}
        for stream in range(STREAMS):
            carried = int(170_003 * share) + 1009 * stream + (index if sender else 0)
            sent = {"total_retrans_segments": index // 2 + stream} if sender else {}
            rows.append({"index": index, "phase": phase, **times, "stream": stream, "bytes": carried, **sent})
    return pa.Table.from_pylist(rows)


def make_probes(begin_ns: int, count: int) -> pa.Table:
    """Probes every 41 ms, each ninth lost."""
    rows = [
        {
            "sequence": n,
            "intended_ns": begin_ns + 41_000_000 * n,
            "sent_ns": begin_ns + 41_000_000 * n + 1_237,
            "rtt_ns": None if n % 9 == 8 else 40_000_003 + 7_919 * (n % 31),
            "stamps": "kernel",
        }
        for n in range(count)
    ]
    return pa.Table.from_pylist(rows)


def make_trial(**others: Any) -> tuple[TrialRecord, dict[str, pa.Table]]:
    """A trial as PathLab stores it: its columns follow from its series by their definitions."""
    sent, received = make_intervals(sender=True).to_pylist(), make_intervals(sender=False).to_pylist()
    loaded, unloaded = make_probes(0, 65), make_probes(4_000_000_000, 21)
    steady = [row for row in received if row["phase"] == "steady"]
    window = [row for row in sent if row["phase"] == "steady"]
    begin_ns, end_ns = window[0]["start_ns"], window[-1]["end_ns"]
    inside = [probe for probe in loaded.to_pylist() if begin_ns <= probe["sent_ns"] < end_ns]
    assert 0 < len(inside) < 65
    length_ns = steady[-1]["end_ns"] - steady[0]["start_ns"]
    shares = [sum(row["bytes"] for row in steady if row["stream"] == n) for n in range(STREAMS)]
    record = dataclasses.replace(
        COMPLETE,
        started_utc="2026-01-02T03:05:00.250+00:00",
        streams=STREAMS,
        source_address="192.0.2.1",
        window_granted_receiver_bytes=131_072,
        congestion_sender="cubic",
        congestion_receiver="reno",
        mss_bytes=1448,
        interval_ns=100_000_000,
        warmup_ns=500_000_000,
        duration_ns=2_000_000_000,
        steady_ns=length_ns,
        received_steady_bytes=sum(shares),
        received_total_bytes=sum(row["bytes"] for row in received),
        sent_total_bytes=sum(row["bytes"] for row in sent),
        retransmitted_bytes=60_816,
        retransmitted_segments=sum(row["total_retrans_segments"] for row in sent[-STREAMS:]),
        retransmitted_steady_segments=30,
        throughput_bits_per_s=sum(shares) * 8e9 / length_ns,
        fairness_jain=jain_index(shares),
        probe_method="icmp-raw",
        probe_stamps="kernel",
        sender_cpu_user_s=0.25,
        flags=("lab", "busy-core"),
        **measure_probes([row["rtt_ns"] for row in inside], "loaded"),
        **measure_probes(unloaded["rtt_ns"].to_pylist(), "unloaded"),
    )
    before = sent[[row["phase"] for row in sent].index("steady") - STREAMS :][:STREAMS]
    last = window[-STREAMS:]
    counted = [sum(row["total_retrans_segments"] for row in rows) for rows in (before, last)]
    assert record.retransmitted_steady_segments == counted[1] - counted[0]
    series = {
        "sender_intervals": make_intervals(sender=True),
        "receiver_intervals": make_intervals(sender=False),
        "loaded_probes": loaded,
        "unloaded_probes": unloaded,
    }
    return dataclasses.replace(record, **others), series


def export(
    name: str,
    folder: Path,
    record: TrialRecord,
    series: dict[str, pa.Table],
    settings: dict[str, Any] = PLAIN,
) -> Path:
    """Store a trial with these settings in a new folder, and export it; return the exported file."""
    planned = {"streams": STREAMS, "window_bytes": 65_536, "congestion": "cubic", **settings}
    rows = (dataclasses.replace(PLAN[0], settings=planned), PLAN[1])
    with Results.create(folder / "results", CAMPAIGN, rows) as results:
        results.add_trial(record, series)
        load_format(name).export(select_trials(results), folder / "out")
    (path,) = (folder / "out").iterdir()
    return path


def check_equal(back: TrialRecord, before: TrialRecord, *, rounding_ratio: float = 1e-12) -> None:
    """Every column; stamps in seconds since 1970 are true to 0.24 us, which a second round trip meets."""
    for field in dataclasses.fields(TrialRecord):
        if field.name in OWN:
            continue
        found, expected = getattr(back, field.name), getattr(before, field.name)
        if isinstance(expected, float) or (field.name == "steady_ns" and expected is not None):
            expected = pytest.approx(expected, rel=rounding_ratio, abs=1e-6)
        assert found == expected, field.name
    assert set(back.flags) == {"imported", *before.flags}


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": PLAIN,
    "reverse": {"direction": "reverse"},
    "both": {"direction": "both"},
    "odd": {"dscp": 46, "write_bytes": 8192, "mss_bytes": 600, "pacing_bits_per_s": 30_000_000},
}


def test_these_formats_go_both_ways() -> None:
    assert set(FORMAT_NAMES) & set(list_importers()) == set(BOTH_WAYS)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("name", BOTH_WAYS)
def test_a_trial_comes_back_as_it_went(tmp_path: Path, name: str, settings: dict[str, Any]) -> None:
    record, series = make_trial()
    (back,) = read_file(export(name, tmp_path / "first", record, series, settings)).trials
    check_equal(back.record, record)
    assert back.settings == {"streams": 3, "window_bytes": 65_536, "congestion": "cubic", **settings}
    for kind, table in back.series.items():
        if kind.endswith("_intervals"):
            check_intervals(table, series[kind])
    again = export(name, tmp_path / "second", back.record, back.series, back.settings)
    (twice,) = read_file(again).trials
    check_equal(twice.record, back.record, rounding_ratio=1e-6)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("kept", ["sender_intervals", "receiver_intervals"])
@pytest.mark.parametrize("name", BOTH_WAYS)
def test_intervals_of_the_end_that_kept_some_come_back(
    tmp_path: Path, name: str, kept: str, direction: str
) -> None:
    """Imported files have those of one end: they are exported, whichever the format is about."""
    record, series = make_trial()
    settings = {} if direction == "forward" else {"direction": direction}
    (back,) = read_file(export(name, tmp_path, record, {kept: series[kept]}, settings)).trials
    check_intervals(back.series[kept], series[kept])
    assert [kind for kind, table in back.series.items() if table.num_rows] == [kept]
    assert back.record.received_steady_bytes == record.received_steady_bytes
    assert back.record.throughput_bits_per_s == pytest.approx(record.throughput_bits_per_s)


def check_intervals(back: pa.Table, before: pa.Table) -> None:
    """The same bytes and phases; a format may have no place for what came after the steady window."""
    found, expected = back.to_pylist(), before.to_pylist()
    assert len(found) >= sum(row["phase"] != "drain" for row in expected)
    for ours, theirs in zip(found, expected, strict=False):
        assert all(ours[key] == theirs[key] for key in ("phase", "stream", "bytes"))
        lengths_ns = [row["end_ns"] - row["start_ns"] for row in (ours, theirs)]
        assert lengths_ns[0] == pytest.approx(lengths_ns[1], abs=2)


#: Of a window a little longer than its intervals, with unknown shares of streams; of a trial without a rate.
STATED: tuple[dict[str, Any], ...] = (
    {"fairness_jain": None, "steady_ns": PHASES.count("steady") * RECEIVER_NS + 50_000},
    {
        **{"status": "failed", "failed_stage": "engine", "failure": "killed"},
        **dict.fromkeys(["throughput_bits_per_s", "steady_ns", "received_steady_bytes"]),
    },
)


@pytest.mark.parametrize("columns", STATED, ids=["longer", "failed"])
@pytest.mark.parametrize("name", BOTH_WAYS)
def test_columns_are_not_counted_again_from_the_intervals(
    tmp_path: Path, name: str, columns: dict[str, Any]
) -> None:
    record, series = make_trial(**columns)
    (back,) = read_file(export(name, tmp_path, record, series)).trials
    check_equal(back.record, record)


def strip_iperf3(path: Path) -> None:
    node = json.loads(path.read_text(encoding="utf-8"))
    del node["pathlab"]
    path.write_text(json.dumps(node), encoding="utf-8")


def strip_flent(path: Path) -> None:
    node = json.loads(gzip.decompress(path.read_bytes()))
    del node["metadata"]["PATHLAB"]
    path.write_bytes(gzip.compress(json.dumps(node).encode()))


#: What each format tells by its own means, without what PathLab adds.
UNAIDED: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "iperf3": (
        strip_iperf3,
        (
            *("started_utc", "streams", "window_requested_bytes", "window_granted_sender_bytes"),
            *("congestion_sender", "congestion_receiver", "interval_ns", "warmup_ns", "duration_ns"),
            *("steady_ns", "received_steady_bytes", "throughput_bits_per_s", "fairness_jain"),
            "retransmitted_steady_segments",
        ),
    ),
    "flent": (strip_flent, ("started_utc", "streams", "interval_ns")),
}


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_what_a_format_tells_by_itself_has_the_same_definitions(tmp_path: Path, name: str) -> None:
    strip, columns = UNAIDED[name]
    record, series = make_trial()
    path = export(name, tmp_path, record, series)
    strip(path)
    (back,) = read_file(path).trials
    for column in columns:
        found, expected = getattr(back.record, column), getattr(record, column)
        assert found == (pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else expected)


def test_the_settings_of_an_export_are_iperf3s_own(tmp_path: Path) -> None:
    record, series = make_trial()
    path = export("iperf3", tmp_path, record, series, SETTINGS["odd"])
    strip_iperf3(path)
    (back,) = read_file(path).trials
    found = {name: back.settings[name] for name in SETTINGS["odd"] if name in back.settings}
    assert found == {"dscp": 46, "write_bytes": 8192, "mss_bytes": 600}
    assert back.settings["stream_pacing_bits_per_s"] == 10_000_000


def test_datagrams_come_back_from_iperf3s_shape(tmp_path: Path) -> None:
    udp = {"udp_sent_packets": 25_896, "udp_lost_packets": 97, "udp_jitter_ns": 12_345.5}
    record, series = make_trial(**udp, retransmitted_segments=None, retransmitted_steady_segments=None)
    path = export("iperf3", tmp_path, record, series, {"transport": "udp"})
    strip_iperf3(path)
    (back,) = read_file(path).trials
    for column, value in udp.items():
        assert getattr(back.record, column) == pytest.approx(value)
    assert back.settings["transport"] == "udp"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("settings.streams", {"a": 1}),
        ("flags", "lab"),
        ("flags", ["Not A Flag"]),
        ("columns.loaded_sent", "many"),
        ("columns.probe_method", 7),
        ("settings", 3),
    ],
)
def test_a_damaged_block_of_an_export_is_one_line(tmp_path: Path, place: str, value: Any) -> None:
    record, series = make_trial()
    path = export("iperf3", tmp_path, record, series)
    node = json.loads(path.read_text(encoding="utf-8"))
    *parents, last = ("pathlab", *place.split("."))
    inner = node
    for key in parents:
        inner = inner[key]
    inner[last] = value
    path.write_text(json.dumps(node), encoding="utf-8")
    with pytest.raises(StoreError, match=r"^'trial-1.json': pathlab\."):
        read_file(path)
