"""Captures of a trial: started at both ends before the first connection, stopped after the drain.

They are fetched when everything else of the trial is over, so that their bytes disturb no measurement. A
capture that fails costs the trial nothing but the capture; its reason is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pathlab.campaign.technologies import list_technologies
from pathlab.engines.spec import TrialSpec
from pathlab.errors import HostError, PathlabError
from pathlab.remote.captures import RemoteCapture
from pathlab.remote.session import Session
from pathlab.store.capture_files import ENDS, open_nameless_file

NONE = "none"
NO_PACKETS = "no packet at this host had the flow's addresses and port"
#: Protocols to be recorded, by transport; others cross no network, or none whose packets are IP's.
_PROTOCOLS = {"tcp": "tcp", "mptcp": "tcp", "sctp": "sctp", "udp": "tcp,udp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePlan:
    """Where captures go, and why some hosts record none, by host."""

    folder: Path
    unable: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class CapturedEnd:
    """What came of the capture of one end; ``missing`` says why there is none, or not all.

    ``file`` has no name yet; None: nothing was recorded.
    """

    missing: str | None = None
    packets: int | None = None
    dropped_packets: int | None = None
    size_bytes: int | None = None
    sha256: str | None = None
    file: IO[bytes] | None = None

    @property
    def is_incomplete(self) -> bool:
        """Whether packets of the trial may be missing."""
        return self.missing is not None or bool(self.dropped_packets)

    def drop(self) -> None:
        """Let the file go, if there is one."""
        if self.file is not None:
            self.file.close()


def build_capture_options(spec: TrialSpec, port: int) -> dict[str, str | int] | None:
    """Flags of ``pathlab-engine capture`` at either end of a trial whose one end listens at ``port``.

    None where no packets cross a network. UDP shares its port with TCP; both addresses are given, since
    others may use that port with other hosts. Subflows of MPTCP may have any addresses.
    """
    cell = spec.cell
    technology = cell.engine in list_technologies()
    protocols = "tcp,udp" if technology and cell.transport == "tcp" else _PROTOCOLS.get(cell.transport)
    if protocols is None:
        return None
    path = spec.path.turned() if spec.path.connect_from == "receiver" else spec.path
    options: dict[str, str | int] = {
        "protocol": protocols,
        "port": str(port),
        "limit-bytes": spec.trial.capture_limit_bytes,
    }
    if cell.transport != "mptcp":
        options["address"] = path.destination_address
    if "udp" in protocols:
        options["peer"] = path.source_address
    return options


class TrialCaptures:
    """The captures of one trial at its sending and its receiving end, which may be one host."""

    def __init__(
        self, spec: TrialSpec, plan: CapturePlan | None, sending: Session, receiving: Session
    ) -> None:
        self._spec, self._plan = spec, plan
        sessions = dict(zip(ENDS, (sending, receiving), strict=True))
        if receiving is sending:
            del sessions["receiver"]  # each packet is in the sender's capture
        self._sessions = sessions
        self._running: dict[str, RemoteCapture] = {}
        self._failed: dict[str, str] = {}

    def start(self, port: int, seconds: float) -> None:
        """Record from here on the flow whose one end listens at ``port``, for ``seconds`` at most."""
        if self._plan is None or self._spec.trial.capture == NONE:
            return
        options = build_capture_options(self._spec, port)
        if options is None:
            return
        for end, session in self._sessions.items():
            unable = self._plan.unable.get(session.host)
            if unable is not None:
                self._failed[end] = unable
                continue
            try:
                self._running[end] = RemoteCapture(session, options, seconds=seconds)
            except PathlabError as error:
                self._failed[end] = _describe(error)

    def stop(self) -> None:
        """Record nothing more."""
        for capture in self._running.values():
            capture.stop()

    def fetch(self) -> dict[str, CapturedEnd]:
        """What came of each end's capture, with its bytes. Raises nothing of a host's; the captures end."""
        ended = {end: CapturedEnd(missing=reason) for end, reason in self._failed.items()}
        self._failed = {}
        try:
            self.stop()
            for end, capture in self._running.items():
                ended[end] = self._fetch_one(capture)
        finally:
            self.close()
        return ended

    def close(self) -> None:
        """End what still runs; its packets are lost."""
        while self._running:
            self._running.popitem()[1].close()

    def _fetch_one(self, capture: RemoteCapture) -> CapturedEnd:
        assert self._plan is not None
        end = CapturedEnd()
        try:
            result = capture.wait_for_result()
            end.file = open_nameless_file(self._plan.folder)
            digest, size = hashlib.sha256(), 0
            for piece in capture.read():
                end.file.write(piece)
                digest.update(piece)
                size += len(piece)
            end.file.flush()
        except PathlabError as error:
            end.drop()
            return CapturedEnd(missing=_describe(error))
        except OSError as error:
            end.drop()
            return CapturedEnd(missing=f"the controller cannot keep it: {error.strerror or error}")
        end.packets, end.dropped_packets = result["captured_packets"], result["dropped_packets"]
        end.size_bytes, end.sha256 = size, digest.hexdigest()
        if not result["complete"]:
            end.missing = str(result.get("reason") or "it ended early")
        elif not end.packets:  # as where addresses are translated between the hosts
            end.missing = NO_PACKETS
        return end


def describe_captures(captures: Mapping[str, CapturedEnd]) -> dict[str, Any]:
    """The columns of a trial's captures."""
    columns: dict[str, Any] = {}
    for name, end in captures.items():
        columns |= {
            f"capture_{name}_packets": end.packets,
            f"capture_{name}_dropped_packets": end.dropped_packets,
            f"capture_{name}_bytes": end.size_bytes,
            f"capture_{name}_sha256": end.sha256,
            f"capture_{name}_missing": end.missing,
        }
    return columns


def _describe(error: PathlabError) -> str:
    return error.reason if isinstance(error, HostError) else str(error)
