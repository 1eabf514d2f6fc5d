"""`pathlab measure HOST --receiver PORT`: the engine there was started by hand, and no SSH is used."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pathlab.remote.engine import find_engine
from pathlab.runner.hosts.environment import Environment
from pathlab.store.results import Results
from tests.campaigns.measuring import SHORT
from tests.command_line import call
from tests.require import require_engine

pytestmark = pytest.mark.engine
HOST = "127.0.0.1"
FAR = ("window_granted", "congestion", "cpu_user", "cpu_system", "busiest_core")


@contextlib.contextmanager
def start(subcommand: str, *flags: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """An engine that listens, as somebody starts it at a shell, and its port."""
    require_engine()
    words = [str(find_engine()), subcommand, "--bind", HOST, "--output", "json", *flags]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as engine:
        try:
            listening = next(line for line in engine.stdout if '"listening"' in line)
            yield engine, int(json.loads(listening)["port"])
        finally:
            engine.kill()


def measure(capsys: pytest.CaptureFixture[str], port: int, *options: str) -> dict[str, Any]:
    words = ["measure", HOST, "-p", str(port), *SHORT, "--unloaded", "5", *options, "--json"]
    said = call(words, capsys)
    assert said.status == 0, said.err
    document: dict[str, Any] = json.loads(said.out)
    return document


@pytest.mark.parametrize(
    ("options", "far", "counted"),
    [
        ((), "receiver", "sender"),
        (("-R", "-P", "2"), "sender", "receiver"),
        (("--rrul",), "receiver", "sender"),
    ],
)
def test_both_directions_are_measured_and_the_far_end_is_never_invented(
    options: tuple[str, ...], far: str, counted: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with start("receive", "--flows", "0", "--port", "0") as (_, port):
        document = measure(capsys, port, *options, "--out", str(tmp_path / "out"))
    trial = document["trial"]
    assert trial["status"] == "complete"
    assert trial["throughput_bits_per_s"] > 0
    flags = document["answer"]["flags"]
    assert "far-end-by-hand" in flags
    assert ("sender-counted" in flags) is (counted == "sender")
    near = "sender" if far == "receiver" else "receiver"
    for part in FAR:
        known = {name for name, value in trial.items() if part in name and value is not None}
        assert not {name for name in known if far in name}, part
        assert {name for name in known if near in name}, part
    assert (trial["throughput_reverse_bits_per_s"] is not None) is ("--rrul" in options)
    if "-R" in options:
        assert trial["retransmitted_segments"] is None
        assert trial["received_total_bytes"] > 0
    with Results.open(tmp_path / "out") as results:
        assert [host.name for host in results.hosts()] == ["local"]
        assert not {kind for kind in results.series_kinds(1) if kind.startswith(f"{far}_")}
        streams = results.series_table(1, f"{near}_intervals")["stream"].to_pylist()
    assert set(streams) == set(range(trial["streams"]))


def test_the_streams_of_both_directions_add_up_to_what_was_sent(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """An end that does both states what it received as bytes; its streams are those that it sent."""
    from pathlab.study.flows.streams import summarise_streams

    with start("receive", "--flows", "0", "--port", "0") as (_, port):
        trial = measure(capsys, port, "--rrul", "--out", str(tmp_path / "out"))["trial"]
    with Results.open(tmp_path / "out") as results:
        streams = summarise_streams(results, 1, trial["steady_ns"])
    assert sum(stream.carried_bytes or 0 for stream in streams) == trial["received_steady_bytes"]
    assert all(stream.by_sender for stream in streams)


@pytest.mark.parametrize("echo", [True, False])
def test_without_icmp_an_echo_by_hand_is_probed_or_no_rtt_is_claimed(
    echo: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = Environment._is_answered

    def without_icmp(environment: Environment, path: Any, echo_port: int | None = None) -> bool:
        return echo_port is not None and answered(environment, path, echo_port)

    monkeypatch.setattr(Environment, "_is_answered", without_icmp)
    with contextlib.ExitStack() as stack:
        _, port = stack.enter_context(start("receive", "--flows", "0", "--port", "20000-29998"))
        if echo:
            stack.enter_context(start("echo", "--port", str(port + 1)))
        trial = measure(capsys, port)["trial"]
        said = "" if echo else call(["measure", HOST, "-p", str(port), *SHORT], capsys).out
    assert trial["probe_method"] == ("udp" if echo else None)
    assert (trial["loaded_rtt_median_ns"] is not None) is echo
    assert (trial["unloaded_sent"] is not None) is echo
    if not echo:
        assert "no RTT is measured" in said
        assert "RTT: not measured, as no probes were sent." in said


@pytest.mark.parametrize("flags", [("--direction", "forward"), ("--token", "ab" * 16)])
def test_an_engine_that_does_not_take_the_flow_is_one_line_and_a_fix(
    flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with start("receive", "--flows", "0", "--port", "0", *flags) as (_, port):
        said = call(["measure", HOST, "--receiver", str(port), *SHORT, "-R"], capsys)
    assert said.status == 3
    first, second = said.err.splitlines()[-2:]
    assert "the receiver rejected stream 0: another token, number of streams or direction" in first
    assert f"pathlab-engine receive --flows 0 --port {port}" in second


def test_nothing_listens_there(capsys: pytest.CaptureFixture[str]) -> None:
    with start("receive", "--port", "0") as (engine, port):
        engine.kill()
        engine.wait()
        said = call(["measure", HOST, "--receiver", str(port), *SHORT], capsys)
    assert said.status == 3
    first, second = said.err.splitlines()[-2:]
    assert first.endswith(f"cannot connect to {HOST} port {port}: Connection refused")
    assert f"pathlab-engine receive --flows 0 --port {port}" in second


def test_where_ssh_is_refused_the_way_without_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with start("receive", "--port", "0") as (engine, port):
        engine.kill()
        engine.wait()
        said = call(["measure", f"{HOST}:{port}", *SHORT], capsys)
    assert said.status == 3
    first, second = said.err.splitlines()[-2:]
    assert first.startswith(f"pathlab: host '{HOST}', connect: ")
    assert "run `pathlab-engine receive --flows 0` at" in second
    assert "then add --receiver 5210 here" in second


def test_an_idle_timeout_ends_a_silent_flow_and_no_pause_between_measurements(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """At 20 kbit/s a write of the sender arrives at most once within some seconds."""
    with start("receive", "--flows", "0", "--port", "0", "--idle-timeout", "2s") as (engine, port):
        silent = call(["measure", HOST, "-p", str(port), "-t", "5s", "--rate", "20kbit/s"], capsys)
        assert measure(capsys, port)["trial"]["status"] == "complete"
        reasons: list[str | None] = []
        while len(reasons) < 2:
            record = json.loads(engine.stdout.readline())
            reasons += [record["reason"]] if record["type"] == "result" else []
    assert silent.status == 3
    assert "ends one in which nothing arrives for 30 s (--idle-timeout 0: never)" in silent.err
    assert "the flow was silent" in (reasons[0] or "")
    assert reasons[1] is None


@pytest.mark.parametrize(
    "options", [("--udp",), ("--transport", "udp"), ("--transport", "udp", "--message", "1KiB")]
)
def test_udp_is_refused_in_one_line(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    said = call(["measure", HOST, "--receiver", "5210", *SHORT, *options], capsys)
    assert said.status == 2
    first, fix = said.err.splitlines()
    assert first.startswith("pathlab: --receiver excludes --")
    assert fix == "  fix: leave --receiver out, and let SSH start both ends"
