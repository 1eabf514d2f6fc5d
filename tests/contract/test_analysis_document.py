"""What machines read: the document of ``pathlab analyze --json``, and the two commands' ways to fail."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pathlab.study.base.registry import ANALYSES
from pathlab.study.document import DOCUMENT_VERSION
from pathlab.study.technologies.technology_analyses import TechnologyAnalyses
from tests import command_line
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.levels import measure_levels
from tests.builders.messages import TCP, carry, make_message_results, make_message_trials
from tests.builders.multipath import Bonds, make_multipath_results
from tests.builders.results import SyntheticResults, write_results
from tests.builders.searches import count_link, write_search_results
from tests.builders.sweeps import make_sweep
from tests.builders.technologies import FACTS, make_technology_results

Call = Callable[..., command_line.Said]
PROMISED = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "analysis-document-1.json").read_text(encoding="utf-8")
)
TABLE = "ibm-streams-3.0-internode"


def make_message_curves() -> SyntheticResults:
    curves = [{"streams": streams, "batch_bytes": size} for streams in (1, 2) for size in (None, 65536)]
    return make_message_trials(curves, carry, cycles=2)


def make_loaded_technologies() -> SyntheticResults:
    loads = [{"background": load} for load in ("none", "cpu")]
    return make_technology_results(sizes=(64,), settings=loads, cycles=1)


def make_levels(factor: str, *levels: str) -> SyntheticResults:
    return measure_levels(factor, {key: {} for key in levels})


#: Results, and the analyses that have answers of them, but none of a sweep of byte streams.
OTHERS: dict[str, tuple[Callable[[], SyntheticResults], tuple[str, ...]]] = {
    "messages": (make_message_curves, ("message_rates", "message_cost", "batching", "fan_out")),
    "round trips": (
        lambda: make_message_results((TCP,), sizes=(64,), rates=(1000, 5000), cycles=1, histograms=True),
        ("message_latency", "message_knee", "message_tails", "message_front"),
    ),
    "datagrams": (
        lambda: make_udp_trials([{"gso": on} for on in (False, True)], carry_flow, cycles=2),
        ("datagrams", "datagram_cost", "offloads"),
    ),
    "technologies": (make_loaded_technologies, ("technologies", "technology_overhead", "loaded_round_trips")),
    "links": (
        lambda: make_multipath_results(Bonds(cycles=1, reordering=(3, 127))),
        (
            *("multipath", "member_shares", "streams_needed"),
            *("tcp_reordering", "reordering_thresholds", "subflow_shares"),
        ),
    ),
    "failing links": (lambda: make_multipath_results(Bonds(cycles=1, failover=True)), ("failover",)),
    "messages on links": (
        lambda: make_multipath_results(Bonds(cycles=1, messages_per_s=5000)),
        ("bond_latency",),
    ),
    "releases": (lambda: make_levels("build", "this", "again", "against"), ("releases",)),
    "recordings": (lambda: make_levels("recording", "off", "full"), ("observer_cost",)),
}
#: Its result is that of message_cost; a search has a plan of its own.
ELSEWHERE = {"write_cost", "lossless_rate"}


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The command line with its arguments one by one."""
    return lambda *arguments: command_line.call(arguments, capsys)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored sweep of six cycles."""
    levels = [(1, 65536), (2, 32768), (4, 16384), (2, 65536), (4, 65536), (8, 65536)]
    made = make_sweep(6, levels=levels).copy(series={})
    made.change_trials(flags=("lab",))
    return write_results(made, tmp_path_factory.mktemp("analysed") / "results")


def check_answers(name: str, answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        assert sorted(answer) == PROMISED["answer"]
        for part in ("condition", "selection"):
            assert sorted(answer[part]) == PROMISED[part]
        assert sorted(answer["result"]) == PROMISED["results"][name]


def test_the_document_has_the_keys_that_its_version_promises(folder: Path, call: Call) -> None:
    """Kept by hand: a key that goes needs a new version; a new one is added there."""
    done = call("analyze", str(folder), "--json")
    assert (done.status, done.err) == (0, "")
    document = json.loads(done.out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (document["document"], document["version"]) == ("pathlab-analysis", DOCUMENT_VERSION)
    assert sorted(document) == PROMISED["document"]
    analyses = document["analyses"]
    assert list(analyses) == list(ANALYSES)
    for name, answers in analyses.items():
        check_answers(name, answers)
    empty = {name for name, answers in analyses.items() if not answers}
    assert empty == {name for _, names in OTHERS.values() for name in names} | ELSEWHERE
    assert sorted(analyses["surface"][0]["result"]["capacity"]["interval"]) == PROMISED["interval"]
    assert document["references"] == {}
    counted = {"stored": 36, "complete": 36, "used": 36, "excluded": []}
    assert document["trials"] == counted | {"warnings": [{"reason": "lab", "trials": 36}]}
    cell = analyses["cells"][0]
    assert cell["condition"]["settings"]["congestion"] == "cubic"
    assert cell["condition"]["medium"] == "lab"
    assert cell["selection"]["used"] == 6


@pytest.mark.parametrize("case", OTHERS)
def test_other_results_have_the_keys_that_the_version_promises(
    case: str, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TechnologyAnalyses, "technology_facts", FACTS)
    make, names = OTHERS[case]
    write_results(make(), tmp_path / "results")
    options = [word for name in names for word in ("--only", name)]
    done = call("analyze", str(tmp_path / "results"), "--json", *options)
    assert (done.status, done.err) == (0, "")
    analyses = json.loads(done.out)["analyses"]
    assert analyses.keys() == set(names)
    for name, answers in analyses.items():
        assert answers, name
        check_answers(name, answers)


def test_a_search_has_the_keys_that_the_version_promises(tmp_path: Path, call: Call) -> None:
    one = {"streams": 1, "transport": "udp", "datagram": 1000}
    write_search_results(tmp_path, count_link(48e6), cycles=1, factors=one)
    done = call("analyze", str(tmp_path), "--json")
    assert (done.status, done.err) == (0, "")
    answers = json.loads(done.out)["analyses"]
    assert not answers["recommendation"]
    (answer,) = answers["lossless_rate"]
    check_answers("lossless_rate", [answer])
    assert answer["result"]["ending"] == "found"
    assert answer["result"]["interval"]["undecided"] == "too-few-samples"


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored sweep of six cycles of 64-byte messages."""
    made = make_sweep(6, levels=[(1, 65536)], settings={"message_bytes": 64}).copy(series={})
    made.change_trials(throughput_bits_per_s=1.62e9, flags=("host-limited",))
    return write_results(made, tmp_path_factory.mktemp("messages") / "results")


def test_a_published_table_beside_own_results(messages: Path, call: Call) -> None:
    asked = ("--only", "cells", "--reference", TABLE, "--column", "tcp_gbps")
    done = call("analyze", str(messages), *asked, "--json")
    assert (done.status, done.err) == (0, "")
    (answer,) = json.loads(done.out)["references"][TABLE]
    assert sorted(answer) == PROMISED["answer"]
    assert sorted(answer["result"]) == PROMISED["reference"]
    assert sorted(answer["result"]["rows"][0]) == PROMISED["reference_row"]
    (row,) = [row for row in answer["result"]["rows"] if row["own"] is not None]
    # the table's line of 64 bytes: 0.88, 0.81, 1.86
    assert (row["level"], row["reference_bits_per_s"]) == (64, pytest.approx(0.81e9))
    assert row["ratio"] == pytest.approx(2.0)
    people = call("analyze", str(messages), *asked)
    assert people.status == 0
    assert f"{TABLE}, tcp_gbps" in people.out
    assert "6 × host-limited" in people.out


def test_a_published_table_that_does_not_fit_says_so(folder: Path, messages: Path, call: Call) -> None:
    none = call("analyze", str(folder), "--only", "cells", "--reference", TABLE)
    assert none.status == 0
    assert "nothing to compare" in " ".join(none.out.split())
    column = call("analyze", str(messages), "--reference", TABLE, "--column", "udp")
    assert column.status == 2
    assert "tcp_batched_gbps, tcp_gbps, infiniband_batched_gbps" in column.err


def test_chosen_analyses_alone_and_tables_for_people(folder: Path, call: Call) -> None:
    asked = ("analyze", str(folder), "--only", "drift", "--only", "cells")
    assert list(json.loads(call(*asked, "--json").out)["analyses"]) == ["cells", "drift"]
    people = call(*asked)
    assert (people.status, people.err) == (0, "")
    assert "8 × 64 KiB" in people.out


def test_reference_tables(call: Call) -> None:
    listed = call("reference", "list")
    assert listed.status == 0
    names = [line.split("\t")[0] for line in listed.out.splitlines()]
    assert len(names) == 7
    assert TABLE in names
    document = json.loads(call("reference", "show", TABLE, "--json").out)
    assert document["columns"]["tcp_gbps"][0] == 0.06
    fit = document["message_cost"]["tcp_gbps"]
    # 4 bytes at 0.06 Gbit/s take 533 ns, 16 KiB at 0.94 Gbit/s are 1.03 Gbit/s less the cost of a message
    assert fit["message_ns"] == pytest.approx(426, rel=0.01)
    assert fit["rate_bits_per_s"] == pytest.approx(1.03e9, rel=0.01)
    people = call("reference", "show", "ibm-streams-2.0-fan-out-intranode")
    assert people.status == 0
    assert "0.77" in people.out
    assert "t(m)" not in people.out
