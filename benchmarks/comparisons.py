"""The comparisons and their targets: the table of the engine's figures.

A group's candidates are run in turn, again and again; its rows are the ratios taken from those runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools import Candidate

MEMORY_LIMIT_BYTES = 64 * 10**6
RECORD_BYTES = 200  # allowed per stream and interval beyond that limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is compared: an attribute of Transfer, and the ratio to reach. No target: both are None."""

    title: str
    quantity: str
    unit: float = 1.0
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Ratios of the first candidate over the second."""

    ours: Candidate
    against: Candidate
    measures: tuple[Measure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Candidates whose runs are interleaved, and the rows made of them."""

    name: str
    rows: tuple[Row, ...]
    memory_of: Candidate | None = None

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Every candidate once, in the order of the rows."""
        return tuple(dict.fromkeys(side for row in self.rows for side in (row.ours, row.against)))


def rate_and_cpu(rate_at_least: float | None = None, cpu_at_most: float | None = None) -> tuple[Measure, ...]:
    """The measures of a stream of bytes."""
    return (
        Measure(title="Gbit/s", quantity="rate_bits_per_s", unit=1e9, at_least=rate_at_least),
        Measure(title="CPU-s/GB", quantity="cpu_s_per_gb", at_most=cpu_at_most),
    )


def plan_groups() -> tuple[Group, ...]:
    """All groups of one place."""
    return (*_plan_copy(), *_plan_zero_copy(), *_plan_alone())


def _plan_copy() -> list[Group]:
    targets = {1: (1.05, 0.95), 4: (1.35, 0.75), 16: (2.0, 0.55)}
    groups = []
    for streams in (1, 4, 16, 64):
        ours = Candidate(label="engine copy", tool="engine", streams=streams)
        flags = ("-T", str(min(2, streams)), "-B", "131072")  # it refuses more threads than streams
        neper = Candidate(label=f"neper {' '.join(flags)}", tool="neper", streams=streams, flags=flags)
        rows = [Row(ours=ours, against=neper, measures=rate_and_cpu(1.0, 1.0))]
        if streams in targets:
            rate, cpu = targets[streams]
            iperf3 = Candidate(label="iperf3", tool="iperf3", streams=streams)
            rows.insert(0, Row(ours=ours, against=iperf3, measures=rate_and_cpu(rate, cpu)))
        groups.append(Group(name=f"copy/{streams}", rows=tuple(rows)))
    return groups


def _plan_zero_copy() -> list[Group]:
    targets = {1: (1.2, 0.85), 4: (1.5, 0.65), 16: (1.8, 0.55)}
    groups = []
    for streams, (rate, cpu) in targets.items():
        flags = ("--transfer", "zero-copy")
        ours = Candidate(label="engine zero-copy", tool="engine", streams=streams, flags=flags)
        flags = ("-Z", "--skip-rx-copy")
        iperf3 = Candidate(label="iperf3 -Z --skip-rx-copy", tool="iperf3", streams=streams, flags=flags)
        row = Row(ours=ours, against=iperf3, measures=rate_and_cpu(rate, cpu))
        groups.append(Group(name=f"zero-copy/{streams}", rows=(row,)))
    return groups


def _plan_alone() -> list[Group]:
    def engine(label: str, streams: int, *flags: str) -> Candidate:
        return Candidate(label=label, tool="engine", streams=streams, flags=flags)

    many, few = engine("1024 streams", 1024), engine("16 streams", 16)
    sampled = engine("TCP_INFO each 100 ms", 64, "--interval", "100ms", "--tcp-info", "fields")
    blind = engine("without TCP_INFO", 64, "--interval", "100ms", "--tcp-info", "none")
    fine, coarse = engine("interval 100 ms", 16, "--interval", "100ms"), engine("interval 1 s", 16)
    # Only the label of these two differs: their ratio shows how much two runs differ anyway.
    first, second = engine("the same", 16), engine("the same again", 16)
    return [
        Group(
            name="many/1024", rows=(Row(ours=many, against=few, measures=rate_and_cpu(0.8)),), memory_of=many
        ),
        Group(name="tcp-info/64", rows=(Row(ours=sampled, against=blind, measures=rate_and_cpu(0.99)),)),
        Group(name="interval/16", rows=(Row(ours=fine, against=coarse, measures=rate_and_cpu(0.97)),)),
        Group(name="noise/16", rows=(Row(ours=first, against=second, measures=rate_and_cpu()),)),
    ]
