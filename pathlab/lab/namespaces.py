"""A set of network namespaces on this machine that end with whoever made them.

One recipe for root and for ordinary users: ``unshare`` makes a PID namespace (and, for an ordinary user, a
user namespace). :mod:`pathlab.lab.namespace_init` is its first process; everything in the lab is its child.
The PID namespace dies with this process, which ends when our end of its socket closes, so nothing outlives a
killed controller. Namespaces have no names on the machine, so two labs cannot clash.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pathlab.errors import HostError, Stage
from pathlab.lab import namespace_init

REQUEST_TIMEOUT_S = 30.0
START_TIMEOUT_S = 10.0
LAB_HOST = "lab"
#: What may forbid namespaces: the value that does, and one that does not.
USER_NAMESPACE_SYSCTLS = (
    ("user.max_user_namespaces", "0", "15000"),
    ("user.max_net_namespaces", "0", "15000"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
)


def lab_error(text: str, hint: str | None = None) -> HostError:
    return HostError(text, host=LAB_HOST, stage=Stage.LAB, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to make the namespaces. ``privilege`` is what the results name."""

    privilege: str  # root | user-namespace
    command: tuple[str, ...]


def recipes() -> tuple[Recipe, ...]:
    """The ways to try on this machine, best first."""
    common = ("--net", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child")
    user = Recipe(
        privilege="user-namespace",
        command=("unshare", "--user", "--map-current-user", "--keep-caps", *common),
    )
    if os.geteuid() == 0:
        return (Recipe(privilege="root", command=("unshare", *common)), user)
    return (user,)


def name_obstacle(sysctls: Path = Path("/proc/sys")) -> str:
    """What keeps an ordinary user from making namespaces, as a next step."""
    result = []
    for key, forbids, allows in USER_NAMESPACE_SYSCTLS:
        with contextlib.suppress(OSError):  # not every kernel has it
            if (sysctls / key.replace(".", "/")).read_text(encoding="ascii").strip() == forbids:
                result.append(f"{key}={allows}")
    if result:
        return f"as root: sysctl -w {' '.join(result)}; or run as root (CAP_SYS_ADMIN)"
    return (
        "no sysctl forbids it, so a container or security module does: allow unshare(2) there, or run as root"
    )


class LabProcess:
    """A process inside the lab, seen from outside."""

    def __init__(self, lab: Namespaces, pid: int) -> None:
        self._lab = lab
        self.pid = pid  # inside the lab's PID namespace

    def poll(self) -> int | None:
        """Exit status as ``subprocess`` counts it, or None while it runs; -9 once the lab is gone."""
        return self.wait(0.0)

    def wait(self, timeout_s: float) -> int | None:
        return self._lab.wait_exit(self.pid, timeout_s)

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal; a process already gone is no error."""
        if self.poll() is None:
            with contextlib.suppress(HostError):
                self._lab.request({"op": "signal", "pid": self.pid, "signal": int(number)})

    def kill(self) -> None:
        """Kill it; what it started dies with it or with the lab."""
        self.send_signal(signal.SIGKILL)


class Namespaces:
    """The lab's namespaces. Use as a context manager, or call :meth:`start` and :meth:`close`."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._unshare: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._exits: dict[int, int] = {}
        self._gone = False
        self.privilege = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def start(self) -> None:
        """Make the namespaces. Raises HostError (stage lab) with what this machine refused."""
        for tool in ("unshare", "ip"):
            if shutil.which(tool) is None:
                raise lab_error(
                    f"the program '{tool}' is missing",
                    "install util-linux and iproute2 (apt-get install iproute2)",
                )
        refusals = []
        for recipe in recipes():
            refusal = self._try(recipe)
            if refusal is None:
                self.privilege = recipe.privilege
                return
            refusals.append(f"{recipe.privilege}: {refusal}")
        raise lab_error("no network namespaces here (" + "; ".join(refusals) + ")", name_obstacle())

    def _try(self, recipe: Recipe) -> str | None:
        """Start with one recipe; returns the refusal in words, or None on success."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._unshare = subprocess.Popen(
                [
                    *recipe.command,
                    sys.executable,
                    "-I",
                    str(Path(namespace_init.__file__)),
                    str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C at the terminal is the controller's to handle
            )
        ours.settimeout(START_TIMEOUT_S)
        try:
            first = ours.recv(namespace_init.MESSAGE_MAX_BYTES)
        except TimeoutError:
            first = b""
        if not first:
            ours.close()
            self._unshare.kill()
            _, errors = self._unshare.communicate()
            lines = errors.decode(errors="replace").strip().splitlines()
            return lines[-1] if lines else f"unshare ended with status {self._unshare.returncode}"
        ours.settimeout(None)
        self._socket = ours
        self._reader = threading.Thread(target=self._read, args=(ours,), name="lab-reader", daemon=True)
        self._reader.start()
        return None

    def _read(self, control: socket.socket) -> None:
        while True:
            try:
                data = control.recv(namespace_init.MESSAGE_MAX_BYTES)
            except OSError:
                data = b""
            if not data:
                break
            message = json.loads(data)
            if message.get("event") == "exit":
                with self._changed:
                    self._exits[message["pid"]] = message["status"]
                    self._changed.notify_all()
            elif "ok" in message:
                self._answers.put(message)
        with self._changed:
            self._gone = True
            self._changed.notify_all()
        self._answers.put(None)

    def request(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """One request to the namespace init and its answer. Raises HostError (stage lab)."""
        with self._lock:
            if self._socket is None or self._gone:
                raise lab_error("the lab is gone: its first process ended", "run again; the lab is made anew")
            try:
                socket.send_fds(self._socket, [json.dumps(message).encode()], list(descriptors))
                answer = self._answers.get(timeout=REQUEST_TIMEOUT_S)
            except (OSError, queue.Empty) as error:
                raise lab_error(f"the lab does not answer ({error or 'time-out'})") from error
        if answer is None:
            raise lab_error("the lab is gone: its first process ended", "run again; the lab is made anew")
        if not answer["ok"]:
            raise lab_error(f"{message['op']} failed: {answer['error']}")
        return answer

    def add_node(self, name: str) -> str:
        """Make a network namespace; returns the path that opens it for processes of the lab."""
        path = self.request({"op": "node", "name": name})["path"]
        self.run(name, "ip", "link", "set", "lo", "up")
        return str(path)

    def run(self, node: str | None, *argv: str) -> str:
        """Run a command to its end inside a node (None: the lab's own namespace); returns its stdout."""
        answer = self.request({"op": "run", "node": node, "argv": list(argv)})
        if answer["status"] != 0:
            raise lab_error(f"'{' '.join(argv)}' failed: {answer['stderr'].strip() or answer['status']}")
        return str(answer["stdout"])

    def set_sysctl(self, node: str | None, key: str, value: str) -> None:
        self.request({"op": "sysctl", "node": node, "key": key, "value": value})

    def can_use_tun(self) -> bool:
        """Whether a process of the lab may open /dev/net/tun."""
        return bool(self.request({"op": "probe"})["tun"])

    def granted_buffer_bytes(self) -> int:
        """The largest receive buffer a socket in the lab is granted, up to what the emulator requests."""
        return int(self.request({"op": "probe"})["buffer_bytes"])

    def can_use_netem(self) -> bool:
        """Whether the kernel has netem; tried on the loopback of the lab's own namespace."""
        try:
            self.run(None, *["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"])
        except HostError:
            return False
        self.run(None, *["tc", "qdisc", "del", "dev", "lo", "root"])
        return True

    def spawn(self, node: str | None, argv: Sequence[str], stdio: tuple[int, int, int]) -> LabProcess:
        """Start a process inside a node with three descriptors of ours as stdin, stdout and stderr.

        They stay ours to close.
        """
        answer = self.request({"op": "spawn", "node": node, "argv": list(argv)}, stdio)
        return LabProcess(self, answer["pid"])

    @property
    def is_gone(self) -> bool:
        """Whether the lab's first process has ended, and everything in the lab with it."""
        with self._changed:
            return self._gone

    def wait_exit(self, pid: int, timeout_s: float) -> int | None:
        with self._changed:
            self._changed.wait_for(lambda: pid in self._exits or self._gone, timeout_s)
            return self._exits.get(pid, -int(signal.SIGKILL) if self._gone else None)

    def close(self) -> None:
        """End the lab and everything in it; safe to call twice."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            self._socket = None
        if self._unshare is not None:
            try:
                self._unshare.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._unshare.kill()
                self._unshare.wait()
            if self._unshare.stderr is not None:
                self._unshare.stderr.close()
            self._unshare = None
        if self._reader is not None:
            self._reader.join(timeout=5)
            self._reader = None
