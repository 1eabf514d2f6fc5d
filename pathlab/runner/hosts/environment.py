"""Where a campaign runs: sessions with the hosts, addresses between them, the lab if there is one.

A lab that this machine cannot make is replaced by loopback only where the campaign allows it, and then said
in the results, in the report and as a notice.
"""

from __future__ import annotations

import datetime
import functools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from pathlab.agents.activity import ActivityMeter
from pathlab.agents.congestion import may_set_congestion
from pathlab.campaign.background_checks import list_network_hosts
from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.engines.spec import HandStarted, TrialPath, TrialSink
from pathlab.errors import HostError, PathlabError, Stage
from pathlab.host_names import LOCAL, LOOPBACK
from pathlab.lab.lab import Lab
from pathlab.lab.namespaces import lab_error
from pathlab.lab.verdict import LabSnapshot, LabVerdict, evaluate_lab, take_snapshot
from pathlab.remote.engine import find_engine
from pathlab.remote.hosts import RemoteAccess, RemoteHosts, build_access, own_boot_id
from pathlab.remote.local import LocalTransport
from pathlab.remote.namespace import NamespaceTransport
from pathlab.remote.session import Session
from pathlab.remote.ssh import SshTransport
from pathlab.remote.transport import Transport
from pathlab.runner.events import Emit, RunNotice
from pathlab.runner.hosts.bond_needs import require_bonds
from pathlab.runner.hosts.calibration import calibrate, choose_counts
from pathlab.runner.hosts.host_activity import THIS_MACHINE, HostActivity, Measure
from pathlab.runner.hosts.lab_topology import build_topology
from pathlab.runner.hosts.run_lock import RunOwner, lock_host
from pathlab.runner.trial.probing import PathProber, ProbeTimeouts
from pathlab.store.flags import Flag
from pathlab.store.records import HostRecord
from pathlab.study.flows.readings import find_ceiling

PROBE_CHECK_TIMEOUT_S = 10.0
#: Sessions opened, and machines calibrated, at a time.
PARALLEL_MAX = 64
UNEXPECTED_SHOWN = 3  # of what each agent said beyond its protocol


def list_hosts(campaign: Campaign) -> list[str]:
    """The hosts of the campaign's paths and of its network load, each once."""
    return list(dict.fromkeys([*campaign.measured_hosts, *list_network_hosts(campaign)]))


class Environment:
    """Sessions and lab of one run. Use as a context manager; everything ends with it.

    ``access`` is how hosts are reached over SSH; by default as this user would with ``ssh``. ``owner`` is the
    run for which every host that others may want as well is locked. ``against``: another build of the engine,
    which every host gets too. ``by_hand``: an engine that was started by hand; no session is opened with its
    host.
    """

    def __init__(
        self,
        campaign: Campaign,
        emit: Emit,
        *,
        access: RemoteAccess | None = None,
        owner: RunOwner | None = None,
        against: Path | None = None,
        by_hand: HandStarted | None = None,
    ) -> None:
        self._campaign, self._by_hand = campaign, by_hand
        self._remote = RemoteHosts(campaign.hosts, access or build_access(), against=against)
        self._against = against
        self._emit = emit
        self._owner = owner
        self._topology = build_topology(campaign.lab) if campaign.lab is not None else None
        self._lab: Lab | None = None
        self._sessions: dict[str, Session] = {}
        self._transports: dict[str, Transport] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._probe_methods: dict[TrialPath, str] = {}
        self._refused_congestion: set[str] = set()
        self._calibrations: dict[str, dict[str, Any]] = {}
        self.activities: Mapping[str, HostActivity] = {}  # by the names of ``activity_sources``
        self._meter = ActivityMeter()
        self.facts: dict[str, Any] = {"lab": None, "fallback": None}

    def __enter__(self) -> Self:
        try:
            self._start_lab()
            self._open_sessions()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _start_lab(self) -> None:
        if self._campaign.lab is None or self._topology is None:
            return
        lab = Lab(self._topology, engine=find_engine(), backend=self._campaign.lab.backend)
        try:
            lab.start()
        except HostError as error:
            if self._campaign.lab.fallback != "loopback":
                raise
            text = (
                f"no emulated WAN here: {error.reason}. Everything below ran over this machine's loopback "
                "and says nothing about the link that the campaign describes."
            )
            self._emit(RunNotice(text=text))
            self.facts["fallback"] = " ".join([text, *self._drop_refused_congestion()])
            return
        self._lab = lab
        require_bonds(self._campaign, lab)
        self.facts["lab"] = lab.describe()

    def _drop_refused_congestion(self) -> Iterator[str]:
        """Outside a lab an ordinary user may not set every congestion control; the default is used."""
        for name in self._campaign.factors.levels("congestion"):
            if isinstance(name, str) and not may_set_congestion(name):
                self._refused_congestion.add(name)
                text = f"This user may not set the congestion control '{name}'; the kernel's default is used."
                self._emit(RunNotice(text=text))
                yield text

    def usable_congestion(self, requested: str | None) -> str | None:
        """What to set on the sockets: None (the default) where the fallback forbids what is requested."""
        return None if requested in self._refused_congestion else requested

    @property
    def lab(self) -> Lab | None:
        """The running lab; None where there is none."""
        return self._lab

    @property
    def run_flags(self) -> tuple[str, ...]:
        """Flags that hold for every trial of this run."""
        if self._lab is not None:
            return (Flag.LAB,)
        return (Flag.LOOPBACK_FALLBACK,) if self.facts["fallback"] else ()

    def find_bottleneck(self, path: TrialPath, transport: str = "tcp") -> tuple[int | None, int | None]:
        """Rate in bit/s and MTU in bytes of the narrowest link under a path; None where there is none.

        Of MPTCP all links between the two hosts together.
        """
        if self._lab is None or self._topology is None or path.source not in self._topology.hosts:
            return None, None
        if path.one_host or path.sinks:  # of several receivers: no link that they share is the narrowest
            return None, None
        multipath = transport == "mptcp"
        return self._topology.bottleneck(path.source, path.destination, multipath=multipath)

    def _open_sessions(self) -> None:
        """All at once; every host that fails is named.

        One that only does not answer may come back, so that the paths without it are measured meanwhile.
        Locks are taken in the order of the machines, which is the same for every run: of runs that start at
        the same time, one gets all its hosts.
        """
        ends = [path.hosts for path in self._campaign.paths]
        hosts = [host for host in list_hosts(self._campaign) if not self.is_by_hand(host)]
        failures: dict[str, PathlabError] = {}
        with ThreadPoolExecutor(min(len(hosts), PARALLEL_MAX), thread_name_prefix="pathlab-open") as pool:
            for host, opened in [(host, pool.submit(self._open_session, host)) for host in hosts]:
                try:
                    opened.result()
                except PathlabError as error:
                    failures[host] = error
        stages = {error.stage if isinstance(error, HostError) else None for error in failures.values()}
        silent = stages <= {Stage.CONNECT}
        if not silent or not any(failures.keys().isdisjoint(pair) for pair in ends):
            first, *others = failures.values()
            for failure in others:
                self._emit(RunNotice(text=str(failure)))
            raise first
        for failure in failures.values():
            self._emit(RunNotice(text=f"{failure}; the paths without it are measured"))
        for host in sorted(self._sessions, key=lambda host: (self._machine(host), host)):
            self._lock_host(self._sessions[host])

    def is_by_hand(self, host: str) -> bool:
        """Whether only an engine runs at a host, which somebody started there."""
        return self._by_hand is not None and host == self._by_hand.host

    def session(self, host: str) -> Session:
        """The open session with a host; a lost one is opened anew. Raises HostError, ProtocolError."""
        with self._locks.setdefault(host, threading.Lock()):
            session = self._sessions.get(host)
            if session is not None and session.death() is None:
                return session
            if session is not None:
                session.close()
            fresh = self._open_session(host)
            try:
                self._lock_host(fresh)
            except PathlabError:
                fresh.close()
                raise
            return fresh

    def _open_session(self, host: str) -> Session:
        transport = self._transport(host)
        session = Session(transport, host=host)
        session.open()
        self._transports[host] = transport
        self._sessions[host] = session
        return session

    def _lock_host(self, session: Session) -> None:
        """Nodes of a lab are this campaign's own."""
        if self._owner is None or (self._lab is not None and session.host in self._lab.topology.hosts):
            return
        warning = lock_host(session, self._owner)
        if warning is not None:
            self._emit(RunNotice(text=warning))

    def _transport(self, host: str) -> Transport:
        if self._lab is not None and host in self._lab.topology.hosts:
            return NamespaceTransport(self._lab.namespaces, host, against=self._against)
        if host in self._remote:
            return self._remote.transport(host)
        if host == LOCAL or host in self._campaign.host_names:
            declared = self._campaign.hosts.get(host)
            arguments = declared.agent_arguments if declared else ()
            return LocalTransport(host=host, against=self._against, arguments=arguments)
        raise HostError(
            "unknown host",
            host=host,
            stage=Stage.CONNECT,
            hint=f"known: {', '.join(self._campaign.host_names)}",
        )

    def trial_path(self, row: PlanRow) -> TrialPath:
        """The path of a row with the addresses that its traffic will use."""
        source, destination = row.addresses
        if source is None or destination is None:
            chosen = self._pair_addresses(row.path.source, row.path.destination, row.cell.family)
            source, destination = source or chosen[0], destination or chosen[1]
        one_host = row.cell.is_on_one_host
        return TrialPath(
            source=row.path.source,
            destination=row.path.destination,
            source_address=source or LOOPBACK,
            destination_address=(source if one_host else destination) or LOOPBACK,
            connect_from=row.path.connect_from,
            source_ports=self._remote.ports(row.path.source),
            destination_ports=self._remote.ports(row.path.source if one_host else row.path.destination),
            one_host=one_host,
            sinks=tuple(self._find_sink(row, sink) for sink in row.path.sinks),
            by_hand=self._by_hand,
        )

    def network_path(self, source: str, destination: str) -> TrialPath:
        """The path of a network load, with the addresses that it uses."""
        addresses = self._pair_addresses(source, destination)
        return TrialPath(
            source=source,
            destination=destination,
            source_address=addresses[0] or LOOPBACK,
            destination_address=addresses[1] or LOOPBACK,
            destination_ports=self._remote.ports(destination),
        )

    def _pair_addresses(
        self, source: str, destination: str, family: str = "any"
    ) -> tuple[str | None, str | None]:
        """The addresses by which two hosts reach each other; None where the system chooses."""
        topology = self._topology
        if self._lab is None or topology is None or source not in self._lab.topology.hosts:
            return self._remote.pair_addresses(source, destination)
        version = 6 if family == "ipv6" else 4
        return topology.address(source, destination, version), topology.address(destination, source, version)

    def _find_sink(self, row: PlanRow, host: str) -> TrialSink:
        """A further receiver at the address that faces the source."""
        address = self._pair_addresses(row.path.source, host, row.cell.family)[1]
        return TrialSink(host=host, address=address or LOOPBACK, ports=self._remote.ports(host))

    def probe_method(self, path: TrialPath) -> str:
        """``icmp``, or ``udp`` where ICMP is not permitted or not answered; tried once a path.

        ``none`` where no echo answers either alongside an engine that was started by hand.
        """
        if path.by_hand is not None:
            return self._choose_probes_by_hand(path, path.by_hand)
        if path not in self._probe_methods:
            self._probe_methods[path] = "icmp" if self._is_answered(path) else "udp"
            if self._probe_methods[path] == "udp":
                self._emit(
                    RunNotice(
                        text=f"{path.source} to {path.destination}: no ICMP probes "
                        "(not permitted or not answered); UDP echo is used instead"
                    )
                )
        return self._probe_methods[path]

    def _choose_probes_by_hand(self, path: TrialPath, by_hand: HandStarted) -> str:
        path = path.turned() if path.source == by_hand.host else path  # this machine probes
        if path in self._probe_methods:
            return self._probe_methods[path]
        method = "none"
        if self._is_answered(path):
            method = "icmp"
        elif self._is_answered(path, by_hand.port + 1):
            method = "udp"
        else:
            text = (
                f"no RTT is measured: ICMP is not permitted or not answered, and nothing echoes at UDP port "
                f"{by_hand.port + 1} of {by_hand.host} (pathlab-engine echo --port {by_hand.port + 1})"
            )
            self._emit(RunNotice(text=text))
        self._probe_methods[path] = method
        return method

    def _is_answered(self, path: TrialPath, echo_port: int | None = None) -> bool:
        """Whether ICMP probes are answered, or those to an echo that was started by hand."""
        ends = path.source_address, path.destination_address
        prober = PathProber(self.session(path.source), ends, echo_port=echo_port)
        try:
            job = prober.start(
                count=2,
                interval_ns=10_000_000,
                timeouts=ProbeTimeouts.fixed(3_000_000_000),
                seconds=PROBE_CHECK_TIMEOUT_S,
            )
            return bool(job.wait_for("result", PROBE_CHECK_TIMEOUT_S)["received"])
        except HostError:
            return False
        finally:
            prober.close()

    def _list_machines(self) -> dict[str, list[str]]:
        """The hosts with an open session by machine."""
        machines: dict[str, list[str]] = {}
        for name in sorted(self._sessions):
            machines.setdefault(self._machine(name), []).append(name)
        return machines

    def activity_sources(self) -> dict[str, Measure]:
        """How to read what others do on each machine, by the name of a host there, or THIS_MACHINE."""
        firsts = {self._name_machine(first): first for first, *_ in self._list_machines().values()}
        return {
            name: self._meter.measure
            if name == THIS_MACHINE
            else functools.partial(self._sessions[first].request, "activity")
            for name, first in firsts.items()
        }

    def _name_machine(self, host: str) -> str:
        return host if isinstance(self._transports[host], SshTransport) else THIS_MACHINE

    def calibrate(self, streams: Iterable[int]) -> None:
        """Measure what each machine can do by itself, all at once; hosts on one machine share it.

        ``streams`` are the numbers of streams of the trials.
        A host that cannot is named in a notice, and its trials have no ceiling to be compared with.
        """
        machines = self._list_machines()
        if not machines:
            return
        counts = choose_counts(streams)
        first = self._campaign.factors.levels("congestion")[0]
        congestion = self.usable_congestion(None if first is None else str(first))
        with ThreadPoolExecutor(min(len(machines), PARALLEL_MAX)) as pool:
            running = [
                (names, pool.submit(calibrate, self._sessions[names[0]], congestion, counts))
                for names in machines.values()
            ]
            for names, measured in running:
                try:
                    self._calibrations.update(dict.fromkeys(names, measured.result()))
                except HostError as error:
                    self._emit(RunNotice(text=f"{names[0]} could not be calibrated: {error.reason}"))

    def _machine(self, host: str) -> str:
        """What is the same for hosts on one machine; the host's own name where that is not known."""
        transport = self._transports[host]
        if isinstance(transport, SshTransport):
            return str(transport.identity.get("boot_id") or host)
        return own_boot_id() or LOCAL

    def host_ceiling(self, path: TrialPath, streams: int) -> float | None:
        """The lower of both hosts' own loopback rates at about this many streams, bit/s; None: unknown."""
        return find_ceiling(map(self._calibrations.get, path.hosts), streams)

    def host_records(self) -> list[HostRecord]:
        """Facts of every host with an open session, its calibration among them."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        records = []
        for name, session in sorted(self._sessions.items()):
            facts = dict(session.facts())
            if name in self._calibrations:
                facts["calibration"] = dict(self._calibrations[name])
            if (activity := self.activities.get(self._name_machine(name))) is not None:
                facts["activity"] = asdict(activity)
            records.append(HostRecord(name=name, recorded_utc=now, facts=facts))
        return records

    def lab_snapshot(self) -> LabSnapshot | None:
        """The lab's counters, None without a lab; raises HostError when a link no longer carries packets."""
        return take_snapshot(self._lab) if self._lab is not None else None

    def find_lab_fault(self) -> str | None:
        """Which link of the lab no longer carries packets, and why; None where all do or there is no lab."""
        return self._lab.find_fault() if self._lab is not None else None

    def check_lab(self) -> None:
        """Raises HostError (stage lab) when a link of the lab no longer carries packets."""
        fault = self.find_lab_fault()
        if fault is not None:
            raise lab_error(fault)

    def rebuild_lab(self) -> None:
        """Make the lab anew, with new sessions to its hosts; no trial may run meanwhile.

        Raises HostError where this machine no longer can; the lab is then gone for good.
        """
        if self._lab is None or self._topology is None:
            return
        for host in self._lab.topology.hosts:
            session = self._sessions.pop(host, None)
            if session is not None:
                session.close()
        self._lab.close()
        # Closed, it refuses every session: its hosts must not be taken for this machine.
        self._lab = Lab(self._topology, engine=find_engine(), backend=self._lab.backend)
        self._lab.start()

    def evaluate_lab(self, snapshots: Sequence[LabSnapshot], path: TrialPath) -> LabVerdict | None:
        """Whether the lab was true from the first to the last snapshot; None without both or any link."""
        if self._topology is None or len(snapshots) < 2 or path.one_host:
            return None
        rtt_ns = self._topology.idle_rtt_ns(path.source, path.destination)
        return evaluate_lab(snapshots[0], snapshots[-1], rtt_ns)

    def close(self) -> None:
        """End sessions, agents, engines and the lab; safe to call twice."""
        sessions = list(self._sessions.values())
        self._sessions.clear()
        for session in sessions:
            for text in session.unexpected[:UNEXPECTED_SHOWN]:
                self._emit(RunNotice(text=f"{session.host}: unexpected message from its agent: {text}"))
        if sessions:
            with ThreadPoolExecutor(min(len(sessions), PARALLEL_MAX)) as pool:
                list(pool.map(Session.close, sessions))
        self._remote.close()
        if self._lab is not None:
            self._lab.close()
            self._lab = None
