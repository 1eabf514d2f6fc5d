"""What hosts over SSH cost: the first session of a host, the next ones, many at once, gaps between trials.

``python benchmarks/hosts.py [--hosts 50] [--repeats 5]``, as whoever may make the lab's namespaces. OpenSSH
runs inside a lab; each host is an account with a home of its own. Times are of this machine, whose cores
also do the servers' half of the work.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.campaigns import GAP_MAX_S, measure_gaps, run_trials  # noqa: E402 -- the checkout goes first
from pathlab.campaign.load import build_campaign  # noqa: E402 -- the checkout goes first
from pathlab.remote.bootstrap import Delivery  # noqa: E402
from pathlab.remote.hosts import RemoteAccess  # noqa: E402
from pathlab.remote.session import Session  # noqa: E402
from pathlab.remote.ssh import SshTransport  # noqa: E402
from pathlab.remote.ssh_config import SshFiles, read_settings  # noqa: E402
from pathlab.remote.ssh_connection import SshConnection, SshOptions  # noqa: E402
from pathlab.runner.hosts.environment import Environment  # noqa: E402
from tests.ssh.lab import PORT, SshLab  # noqa: E402

COLD_S = 3.0
WARM_S = 0.5
MANY_S = 15.0


def measure_sessions(lab: SshLab, repeats: int) -> dict[str, Any]:
    """Seconds from the SSH handshake to the agent's hello: with nothing on the host, and with all."""
    handshakes, cold, warm = [], [], []
    files = SshFiles(user_folder=lab.write_user_folder(), system_folder=lab.folder / "none")
    for _ in range(repeats):
        shutil.rmtree(lab.home("h0") / ".cache", ignore_errors=True)
        table = build_tables(lab, 1)["h0"]
        campaign = build_campaign(describe({"h0": table}, [("h0", "h0")]), label="benchmark")
        settings = read_settings("h0", campaign.hosts["h0"], files)
        connection = SshConnection(settings, SshOptions(dial=lab.dial))
        began = time.monotonic()
        connection.open_channel().close()
        handshakes.append(time.monotonic() - began)
        for times in (cold, warm):
            began = time.monotonic()
            with Session(SshTransport(connection, delivery=Delivery()), host="h0"):
                times.append(time.monotonic() - began)
        connection.close()
    return {
        "handshake_s": median(handshakes),
        "cold_s": median(cold),
        "warm_s": median(warm),
        "cold_most_s": max(cold),
        "warm_most_s": max(warm),
    }


def measure_many(lab: SshLab, count: int) -> dict[str, Any]:
    """Seconds until a campaign over these hosts has all its sessions: at first, and once more."""
    tables = build_tables(lab, count)
    pairs = [(f"h{index}", f"h{index + 1}") for index in range(0, count - 1, 2)]
    campaign = build_campaign(describe(tables, pairs), label="benchmark")
    files = SshFiles(user_folder=lab.write_user_folder(), system_folder=lab.folder / "none")
    access = RemoteAccess(files=files, options=SshOptions(dial=lab.dial))
    result = {}
    for index in range(count):
        shutil.rmtree(lab.home(f"h{index}") / ".cache", ignore_errors=True)
    for name in ("many_cold_s", "many_warm_s"):
        began = time.monotonic()
        with Environment(campaign, lambda _event: None, access=access):
            result[name] = time.monotonic() - began
    return result


def measure_gap(lab: SshLab) -> dict[str, Any]:
    """Seconds from a trial's end to the next one's first byte, besides drain and probes, at 20 streams."""
    described = describe(build_tables(lab, 2), [("h0", "h1")])
    described |= {
        "cycles": 6,
        "factors": {"streams": 20, "pacing": "100Mbit/s"},
        "trial": {"warmup": "0s", "duration": "1s", "interval": "100ms"},
        "probes": {"interval": "100ms", "unloaded": 5},
    }
    files = SshFiles(user_folder=lab.write_user_folder(), system_folder=lab.folder / "none")
    access = RemoteAccess(files=files, options=SshOptions(dial=lab.dial))
    gaps, _ = measure_gaps(run_trials(lab.folder / "gap", build_campaign(described, label="gap"), access))
    return {"gap_s": median(gaps), "gap_most_s": max(gaps)}


def build_tables(lab: SshLab, count: int) -> dict[str, dict[str, Any]]:
    """Hosts h0, h1, ...: accounts of one server."""
    common = {"address": lab.address("a"), "port": PORT, "key": str(lab.key)}
    return {f"h{index}": {**common, "user": f"h{index}"} for index in range(count)}


def describe(tables: dict[str, dict[str, Any]], pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """A campaign over those hosts."""
    return {
        "format": 1,
        "name": "hosts",
        "title": "Hosts",
        "seed": 0,
        "hosts": tables,
        "paths": [{"source": source, "destination": destination} for source, destination in pairs],
        "factors": {"streams": 1},
    }


def main() -> int:
    """Print the figures as JSON; exit status 1 when one exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.environ.pop("SSH_AUTH_SOCK", None)
    with tempfile.TemporaryDirectory(prefix="pathlab-benchmark-") as folder:
        Path(folder).chmod(0o755)
        accounts = [f"h{index}" for index in range(options.hosts)]
        with SshLab(Path(folder), ["a"], accounts) as lab:
            result = {
                **measure_sessions(lab, options.repeats),
                "hosts": options.hosts,
                **measure_many(lab, options.hosts),
                **measure_gap(lab),
                "load_at_end": os.getloadavg()[0],
            }
    print(json.dumps({name: round(value, 3) for name, value in result.items()}))  # noqa: T201
    bounds = {
        "cold_s": COLD_S,
        "warm_s": WARM_S,
        "many_cold_s": MANY_S,
        "many_warm_s": MANY_S,
        "gap_s": GAP_MAX_S,
    }
    return int(any(result[name] > bound for name, bound in bounds.items()))


if __name__ == "__main__":
    sys.exit(main())
