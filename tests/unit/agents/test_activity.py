"""What a host's cores do, read from a /proc that the test makes."""

from itertools import count
from pathlib import Path

import pytest

from pathlab.agents.activity import ActivityMeter

SECOND_NS = 10**9


class FakeProc:
    """A /proc of two cores whose figures the test moves on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        clock = count(0, SECOND_NS)
        self.meter = ActivityMeter(str(root), own=10, clock_ns=lambda: next(clock))

    def show(
        self, user: int, idle: int, steal: int, waited_us: int | None, **processes: tuple[int, int]
    ) -> None:
        """Ticks of each core since boot; ``processes``: name_PID to parent and ticks."""
        line = f"{user} 0 0 {idle} 0 0 0 {steal} 0 0"
        (self.root / "stat").write_text(f"cpu {line}\ncpu0 {line}\ncpu1 {line}\nintr 1\n")
        if waited_us is not None:
            (self.root / "pressure").mkdir(exist_ok=True)
            text = f"some avg10=0.00 avg60=0.00 avg300=0.00 total={waited_us}\nfull avg10=0.00 total=0\n"
            (self.root / "pressure" / "cpu").write_text(text)
        for name, (parent, ticks) in processes.items():
            folder = self.root / name.rpartition("_")[2]
            folder.mkdir(exist_ok=True)
            text = f"{folder.name} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0"
            (folder / "stat").write_text(text)


def test_the_first_reading_has_no_span(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.show(0, 0, 0, 0)
    found = proc.meter.measure()
    assert found["cores"] == 2
    assert {value for name, value in found.items() if name != "cores"} == {None}


def test_shares_are_of_the_time_between_two_readings(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.show(1000, 1000, 0, 5_000_000)
    proc.meter.measure()
    proc.show(1060, 1035, 5, 5_250_000)
    found = proc.meter.measure()
    assert (found["busy_ratio"], found["steal_ratio"], found["waiting_ratio"]) == (0.6, 0.05, 0.25)
    assert found["span_ns"] == SECOND_NS
    proc.show(1060, 1135, 5, 5_250_000)
    assert proc.meter.measure()["busy_ratio"] == 0.0


def test_the_busiest_process_is_never_one_of_ours(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.show(0, 100, 0, None, pathlab_10=(1, 0), engine_11=(10, 0), deeper_12=(11, 0), stress_20=(1, 0))
    proc.meter.measure()
    proc.show(80, 120, 0, None, pathlab_10=(1, 90), engine_11=(10, 80), deeper_12=(11, 70), stress_20=(1, 60))
    found = proc.meter.measure()
    assert found["busiest"] == {"name": "stress_20", "pid": 20, "cores": pytest.approx(0.6)}
    assert found["waiting_ratio"] is None  # this kernel does not count it


def test_a_process_that_came_or_went_is_not_counted(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.show(0, 100, 0, 0, old_20=(1, 50))
    proc.meter.measure()
    (tmp_path / "20" / "stat").unlink()
    proc.show(50, 150, 0, 0, new_21=(1, 50))
    assert proc.meter.measure()["busiest"] is None
