"""No trial is lost because of its drain: over slow and lossy links, with windows far beyond the need.

The grid as a whole is ``long``; its corners always run.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pathlab.lab.lab import Lab
from pathlab.lab.topology import Link, LinkSettings, Topology
from tests.integration.conducting import AB, campaign_of, run, stored
from tests.lab.labs import make_lab
from tests.lab.programs import Program, run_in
from tests.patience import PATIENCE_S
from tests.require import require_engine

pytestmark = [pytest.mark.netns, pytest.mark.engine]

MS = 1_000_000
RTT_S = 0.040
WARMUP_NS, DURATION_NS = 300 * MS, 700 * MS
#: Labs of at most 10 Mbit/s that run at once.
AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One trial over a link of 40 ms, with a queue of one bandwidth-delay product or 250 kB."""

    rate_bits_per_s: int
    loss_ratio: float
    window_bytes: int
    streams: int = 1
    direction: str = "forward"
    congestion: str = "cubic"
    transport: str = "tcp"
    transfer: str = "copy"
    drain_ms: int = 10_000

    @property
    def topology(self) -> Topology:
        link = Link(
            between=("a", "b"),
            rate_bits_per_s=self.rate_bits_per_s,
            delay_ns=int(RTT_S / 2 * 1e9),
            queue_bytes=max(250_000, int(self.rate_bits_per_s * RTT_S / 8)),
            loss_ratio=self.loss_ratio,
        )
        return Topology(hosts=("a", "b"), links=(link,))


ISSUE = Case(rate_bits_per_s=50_000_000, loss_ratio=0.01, window_bytes=2 << 20)
SLOWEST = Case(rate_bits_per_s=1_000_000, loss_ratio=0.03, window_bytes=8 << 20, streams=4, drain_ms=2_000)
CORNERS = (
    ISSUE,
    replace(ISSUE, streams=4),
    SLOWEST,
    replace(SLOWEST, window_bytes=8192),
    replace(SLOWEST, loss_ratio=0.0),
    replace(SLOWEST, direction="reverse"),
    replace(SLOWEST, direction="both"),
    replace(SLOWEST, transfer="zero-copy"),
    replace(SLOWEST, transport="mptcp"),
    replace(SLOWEST, drain_ms=10),
    replace(SLOWEST, direction="both", drain_ms=10),
)
GRID = tuple(
    Case(rate_bits_per_s=rate, loss_ratio=loss, window_bytes=window, streams=streams)
    for rate, loss, window, streams in itertools.product(
        (10**6, 10**7, 10**8, 10**9), (0.0, 0.01, 0.03), (8 << 10, 64 << 10, 1 << 20, 8 << 20), (1, 8)
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The results of both ends, by the role that they had in the counted direction."""

    case: Case
    sender: dict[str, Any]
    receiver: dict[str, Any]

    @property
    def missing_bytes(self) -> int:
        """Sent and not received, by what both ends counted."""
        missing: int = sum(_sent(self.sender)) - sum(self.receiver["total_bytes"])
        if self.case.direction == "both":
            missing += sum(_sent(self.receiver)) - sum(self.sender["total_bytes"])
        return missing

    @property
    def reset(self) -> bool:
        return bool(self.sender["reset_streams"] or self.receiver["reset_streams"])


def _sent(result: dict[str, Any]) -> list[int]:
    counts: list[int] = result.get("total_sent_bytes") or result["total_bytes"]
    return counts


def _flags(case: Case) -> list[str]:
    options = {
        "streams": case.streams,
        "window-bytes": case.window_bytes,
        "warmup-ns": WARMUP_NS,
        "duration-ns": DURATION_NS,
        "interval-ns": 100 * MS,
        "drain-timeout-ns": case.drain_ms * MS,
        "direction": case.direction,
        "congestion": case.congestion,
        "transport": case.transport,
        "transfer": case.transfer,
        "output": "json",
    }
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


@contextmanager
def carrying(case: Case) -> Iterator[tuple[Lab, Program, Program]]:
    """The lab of one trial, its accepting end and its connecting end, both under way."""
    engine = require_engine()
    with make_lab(case.topology) as lab:
        flags = ["--port", "5210", *_flags(case)]
        address = lab.topology.address("b", "a")
        with run_in(lab, "b", engine, "receive", "--bind", address, *flags) as accepting:
            accepting.wait_for('"listening"')
            with run_in(lab, "a", engine, "send", address, *flags) as connecting:
                yield lab, accepting, connecting


def carry(case: Case) -> Ends:
    """One trial, which both ends must call complete."""
    with carrying(case) as (_, accepting, connecting):
        near, far = _last(connecting.finish()), _last(accepting.finish())
    sender, receiver = (far, near) if case.direction == "reverse" else (near, far)
    return Ends(case=case, sender=sender, receiver=receiver)


def _last(lines: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(lines.splitlines()[-1])
    assert record["type"] == "result", record
    return record


def assert_whole(ends: Ends) -> None:
    """Complete at both ends, whole steady windows, and an account of the bytes that agrees."""
    case = ends.case
    for result in (ends.sender, ends.receiver):
        assert result["complete"] is True, (case, result["reason"])
        # A phase ends when the engine gets a core, so that the next one may be shorter.
        assert result["phases"]["steady"]["end_ns"] > 0.9 * (WARMUP_NS + DURATION_NS), case
    assert ends.missing_bytes >= 0, case
    if not ends.reset:
        assert ends.missing_bytes == 0, case
    # What was acknowledged was read there; acknowledgements still under way make up the rest.
    stated = sum(ends.sender["undelivered_bytes"])
    if case.direction == "both":
        stated += sum(ends.receiver["undelivered_bytes"])
    assert stated >= ends.missing_bytes, case


def carry_all(cases: tuple[Case, ...]) -> list[Ends]:
    """The slow ones several at once, the fast ones by themselves."""
    slow = [case for case in cases if case.rate_bits_per_s <= 10_000_000]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(carry, slow))
    return [*done, *(carry(case) for case in cases if case.rate_bits_per_s > 10_000_000)]


def test_corners_of_the_grid_are_complete() -> None:
    all_ends = carry_all(CORNERS)
    for ends in all_ends:
        assert_whole(ends)
    cut = [ends for ends in all_ends if ends.case.drain_ms == 10]
    assert all(ends.reset and ends.missing_bytes > 0 for ends in cut)
    # What is unsent at the stop is small enough to arrive in time: nothing of the issue's trials is given up.
    assert not any(ends.reset for ends in all_ends if ends.case.rate_bits_per_s == ISSUE.rate_bits_per_s)


@pytest.mark.long
def test_the_whole_grid_is_complete(record_property: Callable[[str, object], None]) -> None:
    all_ends = carry_all(GRID)
    for ends in all_ends:
        assert_whole(ends)
    record_property("trials", len(all_ends))
    record_property("reset", sum(ends.reset for ends in all_ends))


def test_a_path_that_is_gone_is_a_failure() -> None:
    """Both ends live on, and nothing gets through any more: no slow path, however long the drain."""
    case = replace(SLOWEST, rate_bits_per_s=10_000_000, loss_ratio=0.0, drain_ms=500)
    with carrying(case) as (lab, accepting, connecting):
        connecting.wait_for('"phase":"steady"')
        _cut(lab)
        ends = [_fail(connecting), _fail(accepting)]
    assert [result["complete"] for result in ends] == [False, False]
    assert all("--drain-timeout-ns" in result["reason"] for result in ends)


def _cut(lab: Lab) -> None:
    for direction in (0, 1):
        lab.change_link(0, direction, LinkSettings(loss_ratio=1.0))


def _fail(program: Program) -> dict[str, Any]:
    """The result of a program that ends with the status of a run that was cut short."""
    lines = [line for line in program.read_to_end().splitlines() if line.startswith("{")]
    assert program.process.wait(PATIENCE_S) == 5
    return _last("\n".join(lines))


def test_a_trial_that_was_reset_is_stored_complete_and_its_idle_probes_wait_for_the_queue(
    tmp_path: Path,
) -> None:
    """The queue holds a second's worth of data when the connections are reset."""
    link = {"between": ["a", "b"], "rate": "1Mbit/s", "delay": "20ms", "queue": "125kB"}
    campaign = campaign_of(
        lab={"hosts": ["a", "b"], "links": [link]},
        paths=AB,
        factors={"streams": [2], "window": ["1MiB"], "congestion": ["cubic"]},
        trial={"warmup": "500ms", "duration": "1500ms", "drain": "10ms"},
        probes={"interval": "50ms", "unloaded": 10},
    )
    run(campaign, tmp_path / "out")
    (record,) = stored(tmp_path / "out")
    assert record.status == "complete", record.failure
    assert "undelivered-data" in record.flags
    assert record.undelivered_bytes == record.sent_total_bytes - record.received_total_bytes > 0
    assert record.unloaded_rtt_median_ns < 0.5 * record.loaded_rtt_median_ns
