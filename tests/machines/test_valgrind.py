"""Short runs under valgrind: no invalid access and no leak."""

import shutil
from pathlib import Path

import pytest

from tests.native.engine import (
    LONGER_NS,
    MS,
    TOKEN,
    Flag,
    assert_counters_agree,
    assert_refused,
    both_ready,
    go,
    start,
)
from tests.native.messages import exchange
from tests.native.pinging import check_all_answered, stop
from tests.require import require

pytestmark = [pytest.mark.engine]

ENGINE = Path(__file__).resolve().parents[2] / "native" / "build" / "dynamic" / "pathlab-engine"
FOUND = 99  # valgrind's exit status when it found something


@pytest.fixture
def checked(tmp_path: Path) -> str:
    """A program that runs the engine under valgrind."""
    require(shutil.which("valgrind"), "the program valgrind")
    require(ENGINE.is_file(), f"the engine at {ENGINE} (make -C native dynamic)")
    program = tmp_path / "engine"
    options = f"--quiet --error-exitcode={FOUND} --leak-check=full --show-leak-kinds=all --track-fds=no"
    program.write_text(f'#!/bin/sh\nexec valgrind {options} {ENGINE} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("transfer", ["copy", "zero-copy"])
def test_a_trial_in_both_directions(checked: str, transfer: str) -> None:
    flags: dict[str, Flag] = {"streams": 3, "workers": 2, "transfer": transfer}
    flags |= {"rate_bits_per_s": 10_000_000, "tcp_info": "raw"}
    connecting: dict[str, Flag] = {"direction": "both", "duration_ns": 300 * MS}
    with both_ready({"duration_ns": LONGER_NS}, connecting, checked, **flags) as ends:
        for end in go(*ends):
            assert (end.status, end.stderr) == (0, "")
            assert_counters_agree(end, 3)


@pytest.mark.parametrize("transport", ["tcp", "udp", "pipe", "eventfd"])
def test_messages_that_return(checked: str, transport: str) -> None:
    flags: dict[str, Flag] = {"messages_per_s": 500, "streams": 2, "encoding": "protobuf"}
    flags |= {"warmup_ns": 40 * MS, "duration_ns": 120 * MS}
    for end in exchange(transport, {}, checked, reply="yes", **flags):
        assert (end.status, end.stderr) == (0, "")


@pytest.mark.parametrize("method", ["udp", "tcp"])
def test_probes(checked: str, method: str) -> None:
    with start("echo", checked, bind="127.0.0.1", port=0, token=TOKEN, control="stdin") as echo:
        port = echo.wait_for("listening")["port"]
        flags: dict[str, Flag] = {"method": method, "port": port, "token": TOKEN, "interval_ns": 5 * MS}
        flags["timeout_ns"] = 60_000 * MS
        with start("ping", checked, address="127.0.0.1", count=10, **flags) as ping:
            check_all_answered(ping.finish(), 10)
        stop(echo)


def test_a_calibration_and_a_refusal(checked: str) -> None:
    with start("calibrate", checked, streams="2", duration_ns=20 * MS, timer_count=10) as calibration:
        calibrated = calibration.finish()
    assert (calibrated.status, calibrated.stderr) == (0, "")
    with start("send", checked, address="127.0.0.1", port=1, congestion="no-such") as sender:
        assert_refused(sender.finish(), 3, "congestion")
