"""One trial that iperf3 carries, with the same probes, counters and records as one of the native engine."""

from __future__ import annotations

from typing import Any

from pathlab.errors import HostError
from pathlab.remote.jobs import EngineJob
from pathlab.runner.trial import iperf3
from pathlab.runner.trial.choreography import GRACE_S, SETUP_TIMEOUT_S, Onlooker, Trial
from pathlab.runner.trial.safety_limit import SafetyAbort


class Iperf3Trial(Trial):
    """As :class:`Trial`. The server runs at the path's destination; the data go as the direction says."""

    def _move_traffic(self, show: Onlooker) -> None:
        spec = self.spec
        iperf3.check_settings(spec)
        turned = self._flow_path is not spec.path
        near, far = (self._receiving, self._sending) if turned else (self._sending, self._receiving)
        lifetime_s = iperf3.traffic_s(spec) + spec.drain_ns / 1e9 + SETUP_TIMEOUT_S + GRACE_S
        server = far.start_peer(iperf3.PROGRAM, iperf3.server_arguments(spec), seconds=lifetime_s)
        self._jobs.append(server)
        port = spec.path.destination_ports.partition("-")[0]
        port = str(server.wait_for("listening", SETUP_TIMEOUT_S)["port"]) if port == "0" else port
        clients: list[EngineJob] = []

        def heed_probe(record: dict[str, Any]) -> None:
            if self._safety.add(record):
                for client in clients:
                    client.command("stop")
            if record["type"] == "probe":
                show.rtt(record["rtt_ns"])

        loaded = self._start_probes(count=0, seconds=lifetime_s, on_record=heed_probe)
        self._roles["loaded"] = loaded
        loaded.wait_for("start", SETUP_TIMEOUT_S)
        show.traffic()
        arguments = iperf3.client_arguments(spec, self._allowed, int(port))
        client = near.start_peer(iperf3.PROGRAM, arguments, seconds=lifetime_s)
        self._jobs.append(client)
        clients.append(client)
        try:
            self._gather((server, client), turned, lifetime_s)
        finally:
            show.traffic()
            loaded.command("stop")
            if self._safety.reason is not None:
                raise SafetyAbort(f"ended early by a safety limit: {self._safety.reason}")
        loaded.wait_for("result", spec.probe_timeout_ns / 1e9 + GRACE_S)

    def _gather(self, ends: tuple[EngineJob, EngineJob], turned: bool, lifetime_s: float) -> None:
        """Both ends' output as records of the roles that they had."""
        server, client = ends
        for job, sends in ((client, not turned), (server, turned)):
            told = job.wait_for("output", lifetime_s)
            result = job.wait_for("result", GRACE_S)
            records = iperf3.convert_output(told["json"], self.spec, ended_ns=told["ended_ns"], sends=sends)
            if sends:
                self.data.sender = records
            else:
                self.data.receiver = records
            if not result["complete"]:
                session = self._sending if sends else self._receiving
                raise HostError("iperf3 ended early", host=session.host, stage="engine")
