"""CPU shares from /proc/stat, worked out by hand, and the watch that samples them beside other sources."""

import errno
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.agents.counters.cpu import SHARES, share_ticks
from pathlab.agents.counters.stopped import list_stopped
from pathlab.agents.counters.watch import SOURCES, CounterSampler, CounterSource
from tests.builders.kernel_texts import read_kernel_text

FIRST = read_kernel_text("stat")
# FIRST with, on cpu0, +2 nice, +3 system, +1 softirq, +4 idle, +10 iowait; cpu1 stands still.
SECOND = """\
cpu  10386 2 3847 167938 1272 0 85 13 0 0
cpu0 1212 2 896 89568 63 0 17 2 0 0
cpu1 9174 0 2950 78369 1208 0 68 11 0 0
"""


def test_a_sample_holds_hand_worked_shares_of_its_span() -> None:
    texts = iter([FIRST, SECOND])
    times = iter([1_000_000_000, 1_203_000_000, 1_203_000_000])
    watch = CounterSampler(100_000_000, clock_ns=lambda: next(times), read=lambda: next(texts), sources=())
    assert watch.due_ns == 1_100_000_000
    sample = watch.sample()
    assert (sample["time_ns"], sample["span_ns"]) == (1_203_000_000, 203_000_000)
    assert sample["cores"] == [
        {
            "core": 0,
            "user_ratio": 0.1,
            "system_ratio": 0.15,
            "softirq_ratio": 0.05,
            "irq_ratio": 0.0,
            "steal_ratio": 0.0,
            "idle_ratio": 0.7,
        },
        {"core": 1, **dict.fromkeys(SHARES)},  # no tick passed: nothing was measured
    ]
    assert watch.due_ns == 1_300_000_000  # the deadline at 1.2 s was missed, and is not made up for


def test_a_core_that_comes_up_waits_for_its_second_reading() -> None:
    texts = iter(["cpu0 1 0 0 0 0 0 0 0\n", "cpu0 2 0 0 0 0 0 0 0\ncpu1 5 0 0 0 0 0 0 0\n"])
    watch = CounterSampler(10_000_000, clock_ns=lambda: 0, read=lambda: next(texts), sources=())
    assert [core["core"] for core in watch.sample()["cores"]] == [0]


class FakeSource:
    """A source that gives, or raises, one item after the other; differences are plain subtractions."""

    def __init__(self, *items: int | Exception) -> None:
        self._items: Iterator[int | Exception] = iter(items)
        self.source = CounterSource("things", "/proc/things", self.read, self.subtract)

    def read(self) -> int:
        item = next(self._items)
        if isinstance(item, Exception):
            raise item
        return item

    def subtract(self, before: int, after: int) -> int:
        return after - before


def watch_one(source: FakeSource) -> CounterSampler:
    return CounterSampler(10_000_000, clock_ns=lambda: 0, read=lambda: FIRST, sources=(source.source,))


def test_a_source_is_compared_with_the_sample_before() -> None:
    watch = watch_one(FakeSource(5, 7, 17))
    assert watch.absent == {}
    assert [watch.sample()["things"] for _ in range(2)] == [2, 10]


def test_a_span_with_an_unread_end_is_unknown_and_the_next_whole_one_is_not() -> None:
    watch = watch_one(FakeSource(5, OSError(errno.EIO, "no"), 7, 8, ValueError("odd"), 20, 21))
    assert [watch.sample()["things"] for _ in range(6)] == [None, None, 1, None, None, 1]
    assert watch.absent == {}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file", "/proc/other"), "/proc/other: No such file"),
        (PermissionError(errno.EPERM, "Operation not permitted"), "/proc/things: Operation not permitted"),
        (ValueError("no headings"), "/proc/things: no headings"),
    ],
)
def test_what_a_host_does_not_show_is_absent_with_its_reason_and_not_tried_again(
    fault: Exception, reason: str
) -> None:
    watch = watch_one(FakeSource(fault))  # a second read would raise StopIteration
    assert watch.absent == {"things": reason}
    assert [watch.sample()["things"] for _ in range(2)] == [None, None]


def test_without_the_cores_there_is_no_watch() -> None:
    with pytest.raises(ValueError, match="cpuN"):
        CounterSampler(10_000_000, read=lambda: "", sources=())


def test_every_sample_of_this_kernel_has_every_part() -> None:
    watch = CounterSampler(10_000_000)
    sample = watch.sample()
    names = [source.name for source in SOURCES]
    assert list(sample) == ["time_ns", "span_ns", "cores", *names]
    assert set(watch.absent) <= set(names)
    for name in names:
        assert (sample[name] is None) == (name in watch.absent)


def test_processes_below_this_one_are_named_while_they_are_stopped() -> None:
    """A grandchild, and a name that looks like the end of its field in /proc/PID/stat."""
    script = "exec -a 'a) T (b' sleep 1000 & echo $!; wait"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True) as shell:
        try:
            pid = int(shell.stdout.readline())
            assert "sleep" not in list_stopped()
            os.kill(shell.pid, signal.SIGSTOP)
            os.waitpid(shell.pid, os.WUNTRACED)
            assert "bash" in list_stopped()
            os.kill(shell.pid, signal.SIGCONT)
            os.waitpid(shell.pid, os.WCONTINUED)
            assert "bash" not in list_stopped()
        finally:
            os.kill(pid, signal.SIGKILL)
            shell.kill()


TICKS = st.tuples(*[st.integers(min_value=0, max_value=2**40)] * 6)


@given(TICKS, TICKS)
def test_shares_are_ratios_that_sum_to_one_or_all_unknown(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    shares = share_ticks(before, after)  # type: ignore[arg-type]
    assert tuple(shares) == SHARES
    values = [value for value in shares.values() if value is not None]
    if values:
        assert len(values) == 6
        assert all(0 <= value <= 1 for value in values)
        assert sum(values) == pytest.approx(1)
    else:
        assert all(new <= old for old, new in zip(before, after, strict=True))
