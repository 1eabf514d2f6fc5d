"""A third engine in one file: ``test_change_costs`` puts it into a copy of the sources as it is.

Its program is the Python below, which the host's agent starts: a server that counts what it reads, a client
that writes to each of its streams in turn.
"""

from typing import Any

from pathlab.campaign.engine_rules import Capabilities, EngineLimit
from pathlab.engines.base import GRACE_S, SETUP_TIMEOUT_S, Engine, EngineContext
from pathlab.engines.spec import TrialSpec
from pathlab.remote.jobs import EngineJob

PROGRAM = """
import json, socket, sys, threading, time

def count(stream, counts, number):
    while data := stream.recv(65536):
        counts[number] += len(data)

role, address, streams, seconds, port = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:5]), sys.argv[-1]
streams, counts = int(streams), [0] * int(streams)
if role == "server":
    with socket.create_server((address, int(port))) as listener:
        taken = [listener.accept()[0] for _ in range(streams)]
    began = time.monotonic_ns()
    readers = [threading.Thread(target=count, args=(one, counts, n)) for n, one in enumerate(taken)]
    [reader.start() for reader in readers]
    [reader.join() for reader in readers]
else:
    taken = [socket.create_connection((address, int(port))) for _ in range(streams)]
    began = time.monotonic_ns()
    while time.monotonic_ns() - began < seconds * 1e9:
        for number, one in enumerate(taken):
            one.sendall(bytes(4096))
            counts[number] += 4096
    [one.close() for one in taken]
print(json.dumps({"bytes": counts, "began_ns": began, "ended_ns": time.monotonic_ns()}))
"""


class ThirdEngine(Engine):
    """Sends along the path, from a client at its source."""

    name = "third"
    capabilities = Capabilities(
        limits=(EngineLimit(what="more than 3 streams", constraint="streams <= 3"),),
        connects_from_receiver=False,
        counts_while_running=False,
    )

    def __init__(self, context: EngineContext) -> None:
        super().__init__(context)
        self._jobs: dict[str, EngineJob] = {}
        self._records: dict[str, list[dict[str, Any]]] = {"sender": [], "receiver": []}

    @classmethod
    def find_interval_ns(cls, spec: TrialSpec) -> int:
        """One interval is the whole window."""
        return spec.cell.warmup_ns + spec.cell.duration_ns

    def _start(self, role: str, side: str, **options: Any) -> EngineJob:
        spec = self.context.spec
        seconds = (spec.cell.warmup_ns + spec.cell.duration_ns) / 1e9
        words = [side, spec.path.destination_address, str(spec.cell.streams), str(seconds)]
        arguments = ["-c", PROGRAM, *words, *options.pop("more", ())]
        job = self.find_session(role).start_peer("python3", arguments, seconds=self.lifetime_s, **options)
        self.context.keep(job)
        self._jobs[role] = job
        return job

    def prepare(self) -> None:
        path = self.context.spec.path
        listen = {"argument": "-p", "address": path.destination_address, "ports": path.destination_ports}
        server = self._start("receiver", "server", listen=listen)
        self._port = int(server.wait_for("listening", SETUP_TIMEOUT_S)["port"])

    def run(self) -> None:
        self._start("sender", "client", more=["-p", str(self._port)])
        for role, job in self._jobs.items():
            self._records[role] = self._convert(job.wait_for("output", self.lifetime_s)["json"])
            job.wait_for("result", GRACE_S)

    def stop(self) -> None:
        self._jobs["sender"].command("stop")

    def collect(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        return self._records["sender"], self._records["receiver"]

    def check_ends(self) -> None:
        for role, job in self._jobs.items():
            if not job.wait_for("result", 0.0)["complete"]:
                raise self.fail(role, "the third engine ended early")

    def _convert(self, printed: dict[str, Any]) -> list[dict[str, Any]]:
        """Its totals as one interval of the steady window, in the records of the native engine."""
        counts, nothing = printed["bytes"], [None] * len(printed["bytes"])
        span = {"start_ns": 0, "end_ns": printed["ended_ns"] - printed["began_ns"], "bytes": counts}
        info = {"unacked_segments": nothing, "snd_mss_bytes": nothing}
        no_phase = {"start_ns": 0, "end_ns": 0, "bytes": [0] * len(counts)}
        return [
            {"type": "hello", "version": "third 3"},
            {"type": "ready", "streams": len(counts), "sockets": []},
            {"type": "start", "monotonic_ns": printed["began_ns"], "realtime_ns": None},
            {"type": "interval", "index": 0, "phase": "steady", **span, "tcp_info": info, "workers": []},
            {
                "type": "result",
                "complete": True,
                "phases": {"warmup": no_phase, "steady": span, "drain": no_phase},
                "total_bytes": counts,
                "rejected": None,
                "workers": [],
                "tcp_info": {},
            },
        ]


ENGINE = ThirdEngine
