"""What comes in: every figure as the other program counted it, nothing for what it did not."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pathlab.store.imported_trial import ImportedTrial
from pathlab.store.importing import read_file
from tests.builders.foreign_files import (
    TEXTS,
    Node,
    change,
    make_crusader,
    make_flent,
    make_iperf3,
    make_iperf3_bidir,
    make_iperf3_udp,
    make_json_stream,
    make_pscheduler,
    make_transfer,
    read_node,
    write_sample,
)
from tests.golden.conftest import Say

#: Written by iperf3 3.21 itself; ``tests/unit/store/importers/test_import_stream.py`` says how.
DATA = Path(__file__).parents[2] / "data" / "iperf3-3.21"


def list_figures(trial: ImportedTrial) -> dict[str, Any]:
    """Every figure of a trial that is known, by its name; of a series those of each row."""
    figures: dict[str, Any] = {"program": f"{trial.program} {trial.program_version}", "part": trial.part}
    record = dataclasses.asdict(trial.record) | {"flags": ", ".join(trial.record.flags)}
    if trial.program == "crusader":
        del record["started_utc"]  # that of the file
    figures |= {name: value for name, value in record.items() if value is not None}
    figures |= {f"setting {name}": level for name, level in trial.settings.items()}
    figures |= {f"detail {name}": value for name, value in trial.details.items()}
    for kind, table in trial.series.items():
        figures |= {f"{kind} {name}": values for name, values in table.to_pydict().items()}
    return figures


def make_server_view() -> Node:
    """The server names the same path as its client."""
    node = make_iperf3()
    node["start"]["accepted_connection"] = {"host": "192.0.2.2", "port": 1}
    node["end"]["sum_sent"]["bytes"] = 0
    return node


def make_late_interval() -> Node:
    """Seen in 3.12 on a busy machine: the begin is told as how long before the clock was set back."""
    node = make_iperf3(streams=1)
    (stream,) = node["intervals"][1]["streams"]
    stream |= {"start": 0.25, "end": 1, "seconds": 1.25}
    return node


def make_early_version() -> Node:
    """3.1 has nothing of what came later."""
    node = make_iperf3(version="iperf 3.1.3")
    for key in ("sock_bufsize", "sndbuf_actual", "rcvbuf_actual"):
        del node["start"][key]
    for interval in node["intervals"]:
        for stream in interval["streams"]:
            for key in ("snd_wnd", "rttvar", "pmtu", "sender"):
                del stream[key]
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        del node["end"][key]
    return node


def make_unknown_figures() -> str:
    """-1 and NaN are not known."""
    node = make_iperf3()
    node["intervals"][0]["streams"][0] |= {"rtt": -1, "pmtu": -1}
    node["end"]["sum_sent"]["retransmits"] = -1
    return json.dumps(node).replace('"mean_rtt": 40000', '"mean_rtt": NaN')


def make_repeated_key() -> str:
    text = json.dumps(make_iperf3_udp(received=1700))
    return text.replace('"end": {', '"end": {"sum": {"bytes": 1}, ', 1)


def make_cut_stream(cut: int) -> str:
    """The events of a test, and the last one up to there: an interrupted trial."""
    *events, last = make_json_stream(make_iperf3()).splitlines(keepends=True)
    return "".join(events) + last[:cut]


def make_pings() -> Node:
    node = make_flent()
    node["raw_values"] = {"Ping (ms) ICMP": node["raw_values"]["Ping (ms) ICMP"]}
    return node


FILES: dict[str, Callable[[], Any]] = {
    "iperf3 reverse": lambda: make_iperf3(reverse=1),
    "iperf3 of a server": make_server_view,
    "iperf3 across the end of the warm-up": make_late_interval,
    "iperf3 both ways": lambda: make_iperf3_bidir(named=True),
    "iperf3 both ways without names": lambda: make_iperf3_bidir(named=False),
    "iperf3 udp": lambda: make_iperf3_udp(received=1700),
    "iperf3 udp of an early version": lambda: make_iperf3_udp(received=None),
    "iperf3 of an early version": make_early_version,
    "iperf3 with unknown figures": make_unknown_figures,
    "iperf3 with a repeated key": make_repeated_key,
    "iperf3 stream": lambda: make_json_stream(make_iperf3()),
    "iperf3 stream without its end": lambda: make_cut_stream(0),
    "iperf3 stream cut in its end": lambda: make_cut_stream(30),
    "iperf3 that failed": lambda: make_iperf3() | {"end": {}, "error": "control socket has closed"},
    # A client that was stopped knows what it sent, not what arrived: that is no loss of 0.
    "iperf3 udp that was stopped": lambda: (
        make_iperf3_udp(received=1700) | {"error": "interrupt - the client"}
    ),
    "transfer that failed": lambda: change(make_transfer(), "exit_status", 7),
    "flent of pings": make_pings,
    # The receiver's rate, not the sender's.
    "pscheduler without what its tool printed": lambda: make_pscheduler(diags=False),
    "crusader whose server could not follow": lambda: make_crusader() | {"server_overload": True},
}


@pytest.mark.parametrize("name", TEXTS)
def test_figures_of_a_program(say: Say, tmp_path: Path, name: str) -> None:
    for trial in read_file(write_sample(tmp_path, name)).trials:
        say(list_figures(trial))


@pytest.mark.parametrize("name", FILES)
def test_figures(say: Say, tmp_path: Path, name: str) -> None:
    for trial in read_node(tmp_path, FILES[name]()):
        say(list_figures(trial))


@pytest.mark.parametrize("name", ["interrupted", "server", "tcp", "udp"])
def test_figures_of_a_real_file(say: Say, name: str) -> None:
    for trial in read_file(DATA / f"{name}.json").trials:
        say(list_figures(trial))
