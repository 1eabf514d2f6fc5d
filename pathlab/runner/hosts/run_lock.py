"""One campaign at a time on a host: two at once would measure each other.

The host's agent holds the lock (agents/host_lock.py), also that of this machine. The hosts of a lab are the
campaign's own and need none.
"""

from __future__ import annotations

import getpass
import os
import secrets
import socket
from dataclasses import asdict, dataclass
from typing import Any

from pathlab.errors import HostError, Stage
from pathlab.remote.session import Session

_HINT = "wait until that is done, or end it: two campaigns at once would measure each other"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOwner:
    """One run of a campaign, as the lock on each of its hosts names it; no other has the same ``run``."""

    run: str
    campaign: str
    user: str
    controller: str


def name_run(campaign: str) -> RunOwner:
    """A run of this process, by this user, on this machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"number {os.getuid()}"
    return RunOwner(
        run=secrets.token_hex(16), campaign=campaign, user=user, controller=socket.gethostname() or "unknown"
    )


def lock_host(session: Session, owner: RunOwner) -> str | None:
    """Have the agent hold its host for a run until it ends; return why there is no such lock, None with one.

    Raises HostError (stage lock) naming the run that has the host.
    """
    host = session.host
    if "lock" not in session.hello["features"]:
        return f"{host}: its agent does not support locks; runs of other controllers are not detected"
    answer = session.request("host.lock", owner=asdict(owner))
    reason = answer.get("reason")
    if answer.get("held"):
        return f"{host}: {reason}" if reason else None
    if reason:
        return f"{host}: no lock against campaigns of others ({reason})"
    raise HostError(_describe_holder(answer.get("owner") or {}), host=host, stage=Stage.LOCK, hint=_HINT)


def _describe_holder(holder: dict[str, Any]) -> str:
    """The other run, as far as its lock names it."""
    if not holder.get("campaign"):
        return "is busy with another run, whose lock does not name it"
    text = f"is busy with campaign '{holder['campaign']}' of user {holder.get('user', 'unknown')}"
    controller, since = holder.get("controller"), holder.get("since_utc")
    return text + (f" from {controller}" if controller else "") + (f" since {since}" if since else "")
