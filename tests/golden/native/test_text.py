"""What the engine shows people of a flow. Numbers of the machine are a #, rows of intervals are left out."""

import re
import subprocess

import pytest

from tests.golden.conftest import Say
from tests.native.engine import TOKEN, Flag, build_command, run
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.engine

Flags = dict[str, Flag]
#: The settings of a flow, in which the port alone differs from run to run.
SETTINGS = re.compile(
    r"sending|receiving|exchanging|listening|unauthenticated|(messages|datagrams) of \d+ bytes, |.*2\.86 MiB"
)
MEASURED = re.compile(r"(?<=[ (])\d[\d.e-]*(?: ?(?:[KMG]?i?B|[mun]?s)\b)?")
ROW = re.compile(r" *\d+\.\d\d- ")
HERE: Flags = {"workers": 1, "congestion": "reno", "interval": "20ms"}
SHORT: Flags = {**HERE, "duration": "100ms"}
BY_UDP: Flags = {"transport": "udp", "duration": "100ms", "workers": 1}
MESSAGES: Flags = {**BY_UDP, "message_bytes": 64, "messages_per_s": 1000}
WINDOW: Flags = {"token": TOKEN, "window": "64KiB"}
FLOWS: dict[str, tuple[Flags, Flags]] = {
    "one stream": (HERE, SHORT),
    "requested settings": (
        {**HERE, **WINDOW, "transfer": "zero-copy"},
        {**SHORT, **WINDOW, "streams": 3, "pacing": "user", "rate": "1Gbit/s"},
    ),
    "bytes": (HERE, {**HERE, "bytes": "3MB", "streams": 3}),
    "both directions": (HERE, {**SHORT, "direction": "both"}),
    "messages": ({"workers": 1}, MESSAGES),
    "messages that return": ({"workers": 1}, {**MESSAGES, "reply": "yes"}),
    "datagrams one way": (
        {"transport": "udp", "gro": "yes", "workers": 1},
        {**BY_UDP, "datagram_bytes": 64, "packets_per_s": 2000, "gso": "yes"},
    ),
    "datagrams": (
        {"transport": "udp", "warmup": "0s", "workers": 1},
        {**BY_UDP, "datagram_bytes": 64, "packets_per_s": 2000, "direction": "both"},
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_flow(name: str, say: Say) -> None:
    accepting, connecting = FLOWS[name]
    listen = build_command("receive", bind="127.0.0.1", port=0, output="human", **accepting)
    with subprocess.Popen(listen, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as receiver:
        first = receiver.stdout.readline()
        found = re.search(r"port (\d+)", first)
        if name == "requested settings":
            assert run("send", address="127.0.0.1", port=int(found[1]), token="ff" * 16).status == 4
        send = build_command("send", address="127.0.0.1", port=found[1], output="human", **connecting)
        sent = subprocess.run(send, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        received, _ = receiver.communicate(timeout=PATIENCE_S)
    for text in (sent.stdout, first + received):
        rows = [line for line in text.splitlines() if ROW.match(line)]
        assert rows[-1].endswith("  in all")
        assert TOKEN not in text
        for line in text.splitlines():
            if name == "bytes" and line.startswith("window: "):
                continue  # of a transfer that took a steady interval, as on busy cores
            if line not in rows:
                varying = re.compile(r"(?<=port )\d+") if SETTINGS.match(line) else MEASURED
                say(varying.sub("#", line))
        say("")
