"""``pathlab measure`` loads what a single trial needs, and nothing of what analyses and reports need."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns.measuring import SHORT, measure
from tests.patience import PATIENCE_S
from tests.require import require_engine

HEAVY = {"jinja2", "matplotlib", "pandas", "scapy", "scipy", "statsmodels", "weasyprint"}
#: The command, then one line of JSON with the top-level names of all modules that it loaded.
SCRIPT = """
import json, sys
from pathlab.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    print(json.dumps([ended.code, loaded]), file=sys.stderr)
"""


@pytest.mark.parametrize("options", [("--json",), (), ("--summary",)], ids=["json", "text", "summary"])
def test_a_single_trial_loads_no_library_of_analyses(options: tuple[str, ...], tmp_path: Path) -> None:
    require_engine()
    options += ("--history", str(tmp_path / "mon.db"))
    command = ["measure", "local", "--time", "300ms", "--warmup", "100ms", "--unloaded", "20", *options]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE_S,
    )
    status, loaded = json.loads(done.stderr.splitlines()[-1])
    assert status == 0, done.stderr
    assert {"numpy", "pyarrow", "rich"} <= set(loaded)
    assert HEAVY & set(loaded) == set()
    if "--json" in options:
        document = json.loads(done.stdout)
        assert document["trial"]["status"] == "complete"
        assert document["history"] == {"path": str(tmp_path / "mon.db"), "trial_id": 1}
    elif "--summary" in options:
        (line,) = done.stdout.splitlines()
        assert " UTC local to local: " in line
        assert "bit/s, " in line
    else:
        assert "by the receiver's count" in done.stdout
        assert "Fairness" not in done.stdout  # of one stream
        assert done.stdout.split()[-6:] == ["Kept", "as", "trial", "1", "of", str(tmp_path / "mon.db")]
        last = done.stdout.rpartition("\nLimited by: ")[2]
        assert last.startswith(("a host's CPU (", "the ", "undecided"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            ("-t", "0.3", "-P", "3", "-w", "64K"),
            {
                **{"duration_ns": 300_000_000, "warmup_ns": 150_000_000},
                **{"streams": 3, "window_requested_bytes": 65536},
            },
            id="iperf3's names",
        ),
        pytest.param(
            (*SHORT, "--message", "64", "--message-rate", "500", "--reply", "--transport", "unix"),
            {"offered_messages_per_s": 500, "messages_missing": 0},
            id="messages",
        ),
        pytest.param((*SHORT, "-R", "--rate", "50M", "-P", "2"), {"streams": 2}, id="reverse"),
        pytest.param((*SHORT, "--probe-timeout", "4s"), {"probe_timeout_ns": 4_000_000_000}, id="probes"),
        pytest.param(("--rrul", "--bytes", "4M"), {"streams": 4}, id="rrul"),
        pytest.param((*SHORT, "--rrul", "-P", "2"), {"streams": 2}, id="rrul with streams"),
        pytest.param(("--both", "--bytes", "4M"), {"duration_ns": 0, "warmup_ns": 0}, id="both"),
    ],
)
def test_options_reach_the_trial(
    options: tuple[str, ...], expected: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    require_engine()
    done = measure(capsys, *options, "--json")
    assert done.status == 0, done.err
    document = json.loads(done.out)
    trial = document["trial"]
    assert expected.items() <= trial.items()
    assert document["limit"]["text"].startswith("Limited by: ")
    if "--rate" in options:
        assert document["plan"]["settings"]["pacing_bits_per_s"] == 50_000_000
    if "--both" in options or "--rrul" in options:
        if "--bytes" in options:
            assert trial["received_total_bytes"] == 4 << 20
        there, back = trial["throughput_bits_per_s"], trial["throughput_reverse_bits_per_s"]
        assert document["answer"]["throughput_sum_bits_per_s"] == pytest.approx(there + back)
    else:
        assert trial["throughput_reverse_bits_per_s"] is None


@pytest.mark.engine
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"udp_offered_packets_per_s": 1250.0}),  # the default, which floods nobody
        (("--rate", "2Mbit/s", "-P", "3", "-R"), {"udp_offered_packets_per_s": 250.0, "streams": 3}),
        (("--rate", "max", "--gso", "--gro"), {"udp_offered_packets_per_s": None}),
    ],
)
def test_a_udp_flow_is_measured_at_the_offered_rate(
    options: tuple[str, ...], expected: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    require_engine()
    done = measure(capsys, "--udp", "--datagram", "1000", *SHORT, *options, "--json")
    assert done.status == 0, done.err
    trial = json.loads(done.out)["trial"]
    assert {**expected, "datagram_bytes": 1000, "udp_foreign_packets": 0}.items() <= trial.items()
    counts = [trial[f"udp_{name}_packets"] for name in ("sent", "received", "lost")]
    assert counts[0] == counts[1] + counts[2] > 0
    if "--gro" not in options:  # whose socket counts several datagrams as one
        assert trial["udp_lost_host_packets"] + trial["udp_lost_path_packets"] == counts[2]
    for kind in ("sender_datagrams", "receiver_datagrams"):
        assert f'"{kind}"' in done.out


@pytest.mark.engine
def test_a_udp_flow_on_a_terminal_names_loss_and_limit(capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    done = measure(capsys, "--udp", *SHORT)
    assert done.status == 0, done.err
    for text in ("Sent  ", "Received  ", "Loss  ", "Reordering  ", "CPU per packet  ", "Limited by: "):
        assert text in done.out
