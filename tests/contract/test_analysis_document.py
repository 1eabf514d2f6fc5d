"""What machines read: the document of ``pathlab analyze --json``, and the two commands' ways to fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pathlab.store.results import Results
from pathlab.study.document import DOCUMENT_VERSION
from pathlab.study.registry import ANALYSES
from pathlab.study.technology_analyses import TechnologyAnalyses
from tests import command_line
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.levels import measure_levels
from tests.builders.messages import TCP, carry, make_message_results, make_message_trials
from tests.builders.multipath import Bonds, make_multipath_results
from tests.builders.results import write_results
from tests.builders.searches import count_link, write_search_results
from tests.builders.sweeps import make_sweep
from tests.builders.technologies import FACTS, make_technology_results

Call = Callable[..., command_line.Said]
#: Analyses that have answers where messages or writes were carried.
MESSAGE_ANALYSES = ("message_rates", "message_cost", "write_cost", "batching", "fan_out")
#: Those that have answers where replies to messages were timed.
LATENCY_ANALYSES = ("message_latency", "message_knee", "message_tails", "message_front")
#: Those that have answers where round trips of technologies were measured, with and without load.
TECHNOLOGY_ANALYSES = ("technologies", "technology_overhead", "loaded_round_trips")
#: Those that have answers where UDP flows were measured, with and without GSO or GRO.
DATAGRAM_ANALYSES = ("datagrams", "datagram_cost", "offloads")
#: Those that have answers where several links were used, and where one of them failed.
MULTIPATH_ANALYSES = (
    *("multipath", "member_shares", "streams_needed", "bond_latency", "failover"),
    *("tcp_reordering", "reordering_thresholds", "subflow_shares"),
)
GOLDEN = Path(__file__).resolve().parents[1] / "data" / "analysis-document-1.json"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line with its arguments one by one."""
    return lambda *arguments: command_line.call(arguments, capsys)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored sweep of six cycles."""
    made = make_sweep(6, levels=[(1, 65536), (2, 32768), (4, 16384), (2, 65536), (4, 65536), (8, 65536)])
    path = tmp_path_factory.mktemp("analysed") / "results"
    with Results.create(path, made.campaign, made.plan()) as results:
        for record in made.records:
            results.add_trial(replace(record, flags=("lab",)), {})
    return path


def test_the_document_has_the_keys_that_its_version_promises(folder: Path, call: Call) -> None:
    """Kept by hand: a key that goes needs a new version; a new one is added there."""
    done = call("analyze", str(folder), "--json")
    assert (done.status, done.err) == (0, "")
    document = json.loads(done.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (document["document"], document["version"]) == ("pathlab-analysis", DOCUMENT_VERSION)
    assert list(document["analyses"]) == list(ANALYSES)
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert sorted(document) == promised["document"]
    for name, answers in document["analyses"].items():
        for answer in answers:
            assert sorted(answer) == promised["answer"]
            assert sorted(answer["condition"]) == promised["condition"]
            assert sorted(answer["selection"]) == promised["selection"]
            assert sorted(answer["result"]) == promised["results"][name]
    empty = {name for name, answers in document["analyses"].items() if not answers}
    assert empty == {
        *(*MESSAGE_ANALYSES, *LATENCY_ANALYSES, *TECHNOLOGY_ANALYSES, *MULTIPATH_ANALYSES),
        *(*DATAGRAM_ANALYSES, "releases", "observer_cost", "lossless_rate"),
    }
    interval = document["analyses"]["surface"][0]["result"]["capacity"]["interval"]
    assert sorted(interval) == promised["interval"]
    assert document["references"] == {}
    counted = {"stored": 36, "complete": 36, "used": 36, "excluded": []}
    assert document["trials"] == counted | {"warnings": [{"reason": "lab", "trials": 36}]}
    cell = document["analyses"]["cells"][0]
    assert cell["condition"]["settings"]["congestion"] == "cubic"
    assert cell["condition"]["medium"] == "lab"
    assert cell["selection"]["used"] == 6


def test_round_trips_have_the_keys_that_the_version_promises(tmp_path: Path, call: Call) -> None:
    results = make_message_results((TCP,), sizes=(64,), rates=(1000, 5000), cycles=1, histograms=True)
    write_results(results, tmp_path / "messages")
    options = [word for name in LATENCY_ANALYSES for word in ("--only", name)]
    document = json.loads(call("analyze", str(tmp_path / "messages"), "--json", *options).out)
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))["results"]
    for name, answers in document["analyses"].items():
        assert answers
        for answer in answers:
            assert sorted(answer["result"]) == promised[name]


def test_udp_flows_have_the_keys_that_the_version_promises(tmp_path: Path, call: Call) -> None:
    results = make_udp_trials([{"gso": on} for on in (False, True)], carry_flow, cycles=2)
    write_results(results, tmp_path / "datagrams")
    options = [word for name in DATAGRAM_ANALYSES for word in ("--only", name)]
    document = json.loads(call("analyze", str(tmp_path / "datagrams"), "--json", *options).out)
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))["results"]
    assert list(document["analyses"]) == list(DATAGRAM_ANALYSES)
    for name, answers in document["analyses"].items():
        assert answers
        for answer in answers:
            assert sorted(answer["result"]) == promised[name]


def test_technologies_have_the_keys_that_the_version_promises(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TechnologyAnalyses, "technology_facts", FACTS)
    loads = [{"background": load} for load in ("none", "cpu")]
    results = make_technology_results(sizes=(64,), settings=loads, cycles=1)
    write_results(results, tmp_path / "technologies")
    options = [word for name in TECHNOLOGY_ANALYSES for word in ("--only", name)]
    document = json.loads(call("analyze", str(tmp_path / "technologies"), "--json", *options).out)
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))["results"]
    for name, answers in document["analyses"].items():
        assert answers
        for answer in answers:
            assert sorted(answer["result"]) == promised[name]


def test_a_search_has_the_keys_that_the_version_promises(tmp_path: Path, call: Call) -> None:
    one = {"streams": 1, "transport": "udp", "datagram": 1000}
    write_search_results(tmp_path, count_link(48e6), cycles=1, factors=one)
    done = call("analyze", str(tmp_path), "--json")
    assert (done.status, done.err) == (0, "")
    answers = json.loads(done.out)["analyses"]
    assert not answers["recommendation"]
    (answer,) = answers["lossless_rate"]
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))["results"]["lossless_rate"]
    assert sorted(answer["result"]) == promised
    assert answer["result"]["ending"] == "found"
    assert answer["result"]["interval"]["undecided"] == "too-few-samples"


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"reordering": (3, 127)}, {*MULTIPATH_ANALYSES} - {"bond_latency", "failover"}),
        ({"failover": True}, {"failover"}),
        ({"messages_per_s": 5000}, {"bond_latency"}),
    ],
)
def test_links_have_the_keys_that_the_version_promises(
    changes: dict[str, Any], names: set[str], tmp_path: Path, call: Call
) -> None:
    write_results(make_multipath_results(Bonds(cycles=1, **changes)), tmp_path / "links")
    options = [word for name in names for word in ("--only", name)]
    document = json.loads(call("analyze", str(tmp_path / "links"), "--json", *options).out)
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))["results"]
    assert set(document["analyses"]) == names
    for name, answers in document["analyses"].items():
        assert answers, name
        for answer in answers:
            assert sorted(answer["result"]) == promised[name]


def test_messages_have_the_keys_that_the_version_promises(tmp_path: Path, call: Call) -> None:
    curves = [{"streams": streams, "batch_bytes": size} for streams in (1, 2) for size in (None, 65536)]
    write_results(make_message_trials(curves, carry, cycles=2), tmp_path / "messages")
    options = [word for name in MESSAGE_ANALYSES for word in ("--only", name)]
    document = json.loads(call("analyze", str(tmp_path / "messages"), "--json", *options).out)
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))["results"]
    analyses = document["analyses"]
    assert analyses.pop("write_cost") == []  # its result is that of message_cost
    for name, answers in analyses.items():
        assert answers
        for answer in answers:
            assert sorted(answer["result"]) == promised[name]


@pytest.mark.parametrize(
    ("name", "factor", "levels"),
    [("releases", "build", ("this", "again", "against")), ("observer_cost", "recording", ("off", "full"))],
)
def test_compared_levels_have_the_keys_that_the_version_promises(
    name: str, factor: str, levels: tuple[str, ...], tmp_path: Path, call: Call
) -> None:
    folder = write_results(measure_levels(factor, {key: {} for key in levels}), tmp_path / "results")
    done = call("analyze", str(folder), "--json", "--only", name)
    assert (done.status, done.err) == (0, "")
    answers = json.loads(done.out)["analyses"][name]
    assert answers
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))
    for answer in answers:
        assert sorted(answer["result"]) == promised["results"][name]
        assert sorted(answer["condition"]) == promised["condition"]


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored sweep of six cycles of 64-byte messages."""
    made = make_sweep(6, levels=[(1, 65536)], settings={"message_bytes": 64})
    path = tmp_path_factory.mktemp("messages") / "results"
    with Results.create(path, made.campaign, made.plan()) as results:
        for record in made.records:
            results.add_trial(replace(record, throughput_bits_per_s=1.62e9, flags=("host-limited",)), {})
    return path


def test_a_published_table_beside_own_results(messages: Path, call: Call) -> None:
    asked = ("--only", "cells", "--reference", "ibm-streams-3.0-internode", "--column", "tcp_gbps")
    done = call("analyze", str(messages), *asked, "--json")
    assert (done.status, done.err) == (0, "")
    document = json.loads(done.out)
    promised = json.loads(GOLDEN.read_text(encoding="utf-8"))
    (answer,) = document["references"]["ibm-streams-3.0-internode"]
    assert sorted(answer) == promised["answer"]
    assert sorted(answer["result"]) == promised["reference"]
    assert sorted(answer["result"]["rows"][0]) == promised["reference_row"]
    (row,) = [row for row in answer["result"]["rows"] if row["own"] is not None]
    # the table's line of 64 bytes: 0.88, 0.81, 1.86
    assert (row["level"], row["reference_bits_per_s"]) == (64, pytest.approx(0.81e9))
    assert row["ratio"] == pytest.approx(2.0)
    people = call("analyze", str(messages), *asked)
    assert people.status == 0
    assert "ibm-streams-3.0-internode, tcp_gbps, compared with 1 × 64 KiB: west → east" in people.out
    assert "No usable trial of 6: 6 × host-limited." in people.out


def test_a_published_table_that_does_not_fit_says_so(folder: Path, messages: Path, call: Call) -> None:
    none = call("analyze", str(folder), "--only", "cells", "--reference", "ibm-streams-3.0-internode")
    assert none.status == 0
    said = "no trial sets the level that this table varies; nothing to compare."
    assert said in " ".join(none.out.split())
    unknown = call("analyze", str(messages), "--reference", "ibm")
    assert unknown.status == 2
    column = call("analyze", str(messages), "--reference", "ibm-streams-3.0-internode", "--column", "udp")
    assert column.status == 2
    assert "take one of: tcp_batched_gbps, tcp_gbps, infiniband_batched_gbps" in column.err


def test_chosen_analyses_alone(folder: Path, call: Call) -> None:
    done = call("analyze", str(folder), "--json", "--only", "drift", "--only", "cells")
    assert list(json.loads(done.out)["analyses"]) == ["cells", "drift"]


def test_tables_for_people(folder: Path, call: Call) -> None:
    done = call("analyze", str(folder))
    assert (done.status, done.err) == (0, "")
    assert "8 × 64 KiB" in done.out


def test_wrong_analyses_and_wrong_files_are_one_line_and_a_fix(
    folder: Path, tmp_path: Path, call: Call
) -> None:
    wrong = call("analyze", str(folder), "--only", "everything")
    assert wrong.status == 2
    assert len(wrong.err.splitlines()) == 2
    nothing = call("analyze", str(tmp_path))
    assert nothing.status == 5
    assert len(nothing.err.splitlines()) == 2


def test_reference_tables(call: Call) -> None:
    listed = call("reference", "list")
    assert listed.status == 0
    names = [line.split("\t")[0] for line in listed.out.splitlines()]
    assert len(names) == 7
    assert "ibm-streams-3.0-internode" in names
    shown = call("reference", "show", "ibm-streams-3.0-internode", "--json")
    document = json.loads(shown.out)
    assert document["columns"]["tcp_gbps"][0] == 0.06
    fit = document["message_cost"]["tcp_gbps"]
    # 4 bytes at 0.06 Gbit/s take 533 ns, 16 KiB at 0.94 Gbit/s are 1.03 Gbit/s less the cost of a message
    assert fit["message_ns"] == pytest.approx(426, rel=0.01)
    assert fit["rate_bits_per_s"] == pytest.approx(1.03e9, rel=0.01)
    people = call("reference", "show", "ibm-streams-2.0-fan-out-intranode")
    assert people.status == 0
    assert "0.77" in people.out
    assert "t(m)" not in people.out
