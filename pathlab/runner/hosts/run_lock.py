"""One campaign at a time on a host: two at once would measure each other.

Between the campaigns of one controller the lock is a file in this user's runtime folder, held by flock(2), so
that it ends with the process. Between controllers and users it is one that the host's agent holds
(agents/host_lock.py). The hosts of a lab are the campaign's own and need none.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import secrets
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathlab.errors import HostError
from pathlab.remote.session import Session
from pathlab.store.flags import Stage

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
    asked = {field: getattr(owner, field) for field in RunOwner.__slots__}
    answer = session.request("host.lock", owner=asked)
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


@contextlib.contextmanager
def lock_controller(hosts: Iterable[str], owner: str, folder: Path) -> Iterator[None]:
    """Hold the right to measure on all hosts. Raises HostError naming the owner of the first that is taken.

    The files stay, since removing one would let two processes hold different files of a name.
    """
    with contextlib.ExitStack() as stack:
        for host in sorted(set(hosts)):  # the same order everywhere, so that two cannot wait in a circle
            stack.callback(os.close, _take(host, owner, folder))
        yield


def _take(host: str, owner: str, folder: Path) -> int:
    path = folder / f"host-{host}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        text = f"cannot make the lock '{path}': {error.strerror or error}"
        hint = "set XDG_RUNTIME_DIR to a folder that this user may write"
        raise HostError(text, host=host, stage=Stage.LOCK, hint=hint) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = "another process"
        with contextlib.suppress(OSError):
            holder = os.pread(descriptor, 300, 0).decode("utf-8", "replace").strip() or holder
        os.close(descriptor)
        raise HostError(
            f"is being measured by {holder}",
            host=host,
            stage=Stage.LOCK,
            hint=_HINT,
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{owner} (process {os.getpid()})\n".encode(), 0)
    return descriptor
