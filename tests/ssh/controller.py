"""A controller that stops at a stage of a trial: run inside a lab, its first argument names the stage.

Prints ``at STAGE`` once there and waits until something fails; prints ``failed STAGE HOST: …`` in one line.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

from pathlab.campaign.host_model import Host
from pathlab.errors import HostError, PathlabError, Stage
from pathlab.remote.hosts import RemoteAccess, RemoteHosts
from pathlab.remote.jobs import EngineJob
from pathlab.remote.session import Session
from pathlab.remote.ssh_config import SshFiles
from tests.patience import PATIENCE_S

TOKEN = "ab" * 16


class Course:
    """One trial from a to b, with a stop at one stage."""

    def __init__(self, reported: dict[str, Any]) -> None:
        self._told = reported
        self._nothing = threading.Event()

    def run(self) -> None:
        """All stages. HostError when a party fails."""
        files = SshFiles(user_folder=Path(self._told["user_folder"]), system_folder=Path("/nowhere"))
        tables = {name: Host.model_validate(table) for name, table in self._told["hosts"].items()}
        hosts = RemoteHosts(tables, RemoteAccess(files=files))
        try:
            with (
                Session(hosts.transport("b"), host="b") as receiving,
                Session(hosts.transport("a"), host="a") as sending,
            ):
                self._measure(sending, receiving)
        finally:
            hosts.close()

    def _measure(self, sending: Session, receiving: Session) -> None:
        address = self._told["hosts"]["b"]["address"]
        # To drain takes seconds where the first segments of many streams fill the queue of the slow way.
        streams = 32 if self._told["stage"] == "drain" else 2
        common = {"streams": streams, "warmup-ns": 0, "window-bytes": 1 << 20}
        self._stop_at("connect", sending, receiving)
        options = {**common, "bind": address, "port": 0, "duration-ns": -1}
        receiver = receiving.start_engine("receive", options, seconds=60, token=TOKEN)
        port = receiver.wait_for("listening", PATIENCE_S)["port"]
        self._stop_at("prepare", sending, receiving, receiver)
        duration_ns = 300_000_000 if self._told["stage"] == "drain" else 30_000_000_000
        options = {**common, "address": address, "port": port, "duration-ns": duration_ns}
        options["drain-timeout-ns"] = 30_000_000_000
        sender = sending.start_engine("send", options, seconds=60, token=TOKEN)
        sender.wait_for("ready", PATIENCE_S)
        sender.command("go")
        self._await_phase(sender, "steady")
        self._stop_at("traffic", sending, receiving, sender, receiver)
        self._await_phase(sender, "drain")
        self._stop_at("drain", sending, receiving, sender, receiver)

    @staticmethod
    def _await_phase(job: EngineJob, phase: str) -> None:
        seen = 0
        for _ in range(1000):
            record = job.wait_for("interval", PATIENCE_S, after=seen)
            seen = job.records.index(record) + 1
            if record["phase"] == phase:
                return
        raise AssertionError(f"no interval of the {phase} phase")

    def _stop_at(self, stage: str, sending: Session, receiving: Session, *jobs: EngineJob) -> None:
        if stage != self._told["stage"]:
            return
        print(f"at {stage}", flush=True)  # noqa: T201
        for _ in range(1200):  # until something fails
            for session in (sending, receiving):
                death = session.death()
                if death is not None:
                    raise death
            for job in jobs:
                if job.ended:
                    host = {"send": "a", "receive": "b"}[job.subcommand]
                    raise HostError(job.wait(PATIENCE_S).describe(), host=host, stage=Stage.ENGINE)
            self._nothing.wait(0.05)
        raise AssertionError("nothing failed")


def main() -> int:
    """Exit status 3 where a host failed."""
    try:
        Course(json.loads(sys.argv[1])).run()
    except HostError as error:
        print(f"failed {error.stage} {error.host}: {error.reason}", flush=True)  # noqa: T201
        return 3
    except PathlabError as error:
        print(f"failed {error}", flush=True)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
