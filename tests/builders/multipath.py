"""Results of several links in memory: what each way to use them carries is known beforehand.

Each link alone carries its rate. Packets in turn carry as many times the slowest link as there are links,
a hash the links that its streams fall on, MPTCP 95 % of the sum. A level of the whole path drifts from cycle
to cycle, and every trial has a noise of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pathlab.store.records import HostRecord, PlanRecord, TrialRecord
from tests.builders.messages import Setup, make_round_trips, measure_message
from tests.builders.results import LINK, SyntheticResults, make_hosts, plan_cycles, run_plan
from tests.builders.trials import INTERVAL_NS, STEADY_NS, make_series, measure_row

EQUAL, UNEQUAL = (48.2e6, 48.2e6), (48.2e6, 19.3e6)
HEADERS = 1.035
SINGLES = ("link-1", "link-2")
BONDS = ("round-robin", "ecmp-l3", "ecmp-l4", "mptcp")
MESSAGE_BYTES = 1024


@dataclass(frozen=True)
class Bonds:
    """What is measured: the rate of each link alone, and the levels of the factors."""

    rates: tuple[float, ...] = EQUAL
    levels: Sequence[str] = (*SINGLES, *BONDS)
    streams: Sequence[int] = (1, 8)
    windows: Sequence[int | None] = (None,)
    reordering: Sequence[int | None] = (None,)
    cycles: int = 8
    noise_ratio: float = 0.01
    good_hash: bool = True
    failover: bool = False
    messages_per_s: int | None = None
    limited: Sequence[str] = ()  # levels whose trials are lab-limited
    seed: int = 3


def make_multipath_results(bonds: Bonds | None = None) -> SyntheticResults:
    """Every level with every number of streams, once in each cycle, in random order."""
    bonds = bonds or Bonds()
    rng = np.random.default_rng(bonds.seed)
    drift = 1.0
    series: dict[int, dict[str, pd.DataFrame]] = {}

    def order(cells: int) -> Iterable[int]:
        nonlocal drift
        drift = float(np.exp(rng.normal(0, 0.05)))
        return rng.permutation(cells)

    def measure(row: PlanRecord) -> TrialRecord:
        factor = drift * float(np.exp(rng.normal(0, bonds.noise_ratio)))
        carried = list(_carry(bonds, row.settings["bond"], row.settings["streams"], rng))
        flags = ("lab", "lab-limited") if row.settings["bond"] in bonds.limited else ("lab",)
        trial = replace(_make_trial(bonds, row, [factor * rate for rate in carried], rng), flags=flags)
        series[row.row] = _make_series(bonds, row, trial, carried)
        return trial

    links = [{**LINK, "rate_bits_per_s": int(rate * HEADERS)} for rate in bonds.rates]
    links = [{**link, "delay_ns": 10_000_000} for link in links]
    return run_plan(
        plan_cycles(list(_list_cells(bonds)), bonds.cycles, order),
        measure,
        lambda trial: series[trial.plan_row],
        _make_hosts(),
        **{"name": "multipath", "title": "Two links together against each alone"},
        environment={"lab": {"backend": "emu-packet", "links": links}},
    )


def _make_hosts() -> list[HostRecord]:
    nics = {
        "lo": {"state": "up", "offloads": {"gro": True}},
        "pl0": {"state": "up", "offloads": {"gro": True}},
    }
    return [replace(host, facts={**host.facts, "nics": nics}) for host in make_hosts()]


def _list_cells(bonds: Bonds) -> Iterator[Mapping[str, Any]]:
    for bond in bonds.levels:
        for streams in bonds.streams:
            for level in bonds.reordering if bond not in SINGLES else bonds.reordering[:1]:
                cell = {"streams": streams, "congestion": "cubic", "bond": bond}
                cell["transport"] = "mptcp" if bond == "mptcp" else "tcp"
                cell |= {} if len(bonds.reordering) == 1 else {"tcp_reordering": level}
                cell |= {"failover": "silent"} if bonds.failover else {}
                if bonds.messages_per_s is not None:
                    cell |= {"message_bytes": MESSAGE_BYTES, "reply": True}
                    cell |= {"message_rate_per_s": bonds.messages_per_s}
                for window in bonds.windows:
                    yield {**cell, "window_bytes": window}


def _carry(bonds: Bonds, bond: str, streams: int, rng: np.random.Generator) -> Iterator[float]:
    """The rate over each link."""
    for number, rate in enumerate(bonds.rates):
        if bond in SINGLES:
            yield rate if SINGLES.index(bond) == number else 0.0
        elif bond.startswith(("round-robin", "balance-rr")):
            yield min(bonds.rates) * 0.98
        elif bond.startswith("mptcp"):
            yield rate * 0.95
        elif number == 0:
            addresses = bond == "ecmp-l3" or not bonds.good_hash
            used = np.zeros(len(bonds.rates), dtype=bool)
            used[[0] if addresses else rng.integers(0, len(bonds.rates), streams)] = True
            yield from (one * 0.98 if use else 0.0 for one, use in zip(bonds.rates, used, strict=True))
            return


def _make_trial(
    bonds: Bonds, row: PlanRecord, carried: Sequence[float], rng: np.random.Generator
) -> TrialRecord:
    bond, streams = row.settings["bond"], row.settings["streams"]
    rate = sum(carried)
    in_turn = bond.startswith(("round-robin", "balance-rr"))
    seen = 400 if in_turn else 0
    counters: dict[str, Any] = {
        "retransmitted_segments": 40 + seen // 10,
        "reordering_seen_events": seen,
        "dsack_duplicate_segments": seen // 10,
        "out_of_order_segments": 9 * seen,
    }
    if bonds.messages_per_s is not None:
        base = 20e6 if bond != "round-robin" else 24e6
        return measure_message(Setup(base_ns=base, capacity_per_s=1e9), row, **counters, flags=("lab",))
    failure: dict[str, Any] = {}
    if bonds.failover:
        recovered = bond == "mptcp" or rng.random() < 0.3
        failure = {
            "failover_at_ns": STEADY_NS // 3,
            "failover_member": "pl0",
            "failover_dip_ratio": 0.4 if bond == "mptcp" else 0.0,
            "failover_recovery_ns": int(3e8 * np.exp(rng.normal(0, 0.2))) if recovered else None,
            "failover_censored": None if recovered else "not-recovered",
            "failover_retransmitted_bytes": 200_000,
        }
    return measure_row(
        row,
        throughput_bits_per_s=rate,
        received_steady_bytes=int(rate / 8 * STEADY_NS / 1e9),
        received_total_bytes=int(rate / 8 * STEADY_NS / 1e9 * 1.2),
        fairness_jain=None if streams == 1 else 0.93,
        **counters,
        **failure,
    )


def _make_series(
    bonds: Bonds, row: PlanRecord, record: TrialRecord, carried: Sequence[float]
) -> dict[str, pd.DataFrame]:
    found = {"members": _count_members(bonds, carried)}
    if bonds.messages_per_s is not None:
        return {**found, "round_trips": make_round_trips(record, samples=400)}
    found |= make_series(record)
    if row.settings["bond"] == "mptcp":
        found["sender_subflows"] = _count_subflows(row.settings["streams"], carried)
    return found


def _count_members(bonds: Bonds, carried: Sequence[float]) -> pd.DataFrame:
    """Both ends' counters of the steady window; acknowledgements are 2 % and take the same way."""
    rows = []
    for end in ("sender", "receiver"):
        for number, rate in enumerate(carried):
            data = int(rate * HEADERS / 8 * STEADY_NS / 1e9) + 600
            acknowledged = data // 50 + 600
            sent, received = (data, acknowledged) if end == "sender" else (acknowledged, data)
            rows.append(
                {
                    "end": end,
                    "member": f"pl{number}",
                    "link": number,
                    "tx_bytes": sent,
                    "tx_packets": sent // 1500 + 4,
                    "rx_bytes": received,
                    "rx_packets": received // 1500 + 4,
                    "rate_bits_per_s": bonds.rates[number] * HEADERS,
                    "gso_max_segments": 65535,
                    "gro": 1,
                }
            )
    return pd.DataFrame(rows)


def _count_subflows(streams: int, carried: Sequence[float]) -> pd.DataFrame:
    """Counters since each subflow began at the end of every interval, from the warm-up on."""
    steps = 2 * STEADY_NS // INTERVAL_NS
    return pd.DataFrame(
        {
            "index": step,
            "start_ns": step * INTERVAL_NS,
            "end_ns": (step + 1) * INTERVAL_NS,
            "stream": stream,
            "id": number + 1,
            "local": f"198.18.{number}.1",
            "local_port": 40000 + stream,
            "remote": f"198.18.{number}.2",
            "remote_port": 5000,
            "bytes_sent": int((step + 1) * rate / 8 / streams * INTERVAL_NS / 1e9),
            "bytes_retrans": (step + 1) * 1448,
            "rtt_us": 20_000 + 10_000 * number,
        }
        for step in range(steps)
        for stream in range(streams)
        for number, rate in enumerate(carried)
    )
