"""First process of a lab's PID namespace: keeps the network namespaces and starts everything in them.

Run by path as ``python -I namespace_init.py FD``; standard library only. It serves requests on the Unix
socket FD, one JSON object per message. When the other end of that socket is gone - the controller ended
or was killed - this process ends, and with it, by the kernel's hand, every process of the PID namespace
and every namespace nobody holds any more. Nothing else is needed to clean up.

Requests: ``{"op": "node", "name": N}`` makes a network namespace; ``{"op": "run", "node": N, "argv": [...]}``
runs a command to its end; ``{"op": "spawn", "node": N, "argv": [...]}`` with three descriptors attached
starts a process on them; ``{"op": "sysctl", "node": N, "key": K, "value": V}``; ``{"op": "signal", "pid": P,
"signal": S}``; ``{"op": "probe"}`` states what the lab may use. ``node`` null means the lab's own namespace.
Answers: ``{"ok": true, ...}`` or ``{"ok": false, "error": "..."}``.
Without a request: ``{"event": "exit", "pid": P, "status": S}``, the status as ``subprocess`` counts it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

MESSAGE_MAX_BYTES = 1 << 18
RUN_TIMEOUT_S = 20
CLONE_NEWNET = 0x40000000
OWN = ""
SO_RCVBUFFORCE = 33  # asm-generic/socket.h; the socket module has no name for it
EMULATOR_BUFFER_BYTES = 64 << 20  # native/src/emulate/device.c


class NamespaceInit:
    """The state of one lab: its namespaces by name and its processes by pid."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._namespaces = {OWN: os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)}
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def serve(self, wakeup: int) -> None:
        """Answer requests until the controller is gone."""
        while True:
            ready, _, _ = select.select([self._control.fileno(), wakeup], [], [])
            if wakeup in ready:
                os.read(wakeup, 4096)
                self._reap()
            if self._control.fileno() in ready:
                data, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE_MAX_BYTES, 3)
                if not data:
                    return
                try:
                    answer = {"ok": True, **self._act(json.loads(data), descriptors)}
                except (OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
                    answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
                finally:
                    for descriptor in descriptors:
                        os.close(descriptor)
                self._send(answer)

    def _send(self, message: dict[str, Any]) -> None:
        self._control.send(json.dumps(message).encode())

    def _act(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        op = request["op"]
        if op == "node":
            return self._make_node(request["name"])
        if op == "run":
            return self._run(request["node"] or OWN, request["argv"])
        if op == "spawn":
            return self._spawn(request["node"] or OWN, request["argv"], descriptors)
        if op == "sysctl":
            return self._sysctl(request["node"] or OWN, request["key"], request["value"])
        if op == "signal":
            with contextlib.suppress(ProcessLookupError):
                os.kill(request["pid"], request["signal"])
            return {}
        if op == "probe":
            return {"tun": self._can_open_tun(), "buffer_bytes": self._grant_buffer()}
        raise ValueError(f"unknown op {op!r}")

    def _enter(self, node: str) -> None:
        if self._libc.setns(self._namespaces[node], CLONE_NEWNET) != 0:
            error = ctypes.get_errno()
            raise OSError(error, f"setns: {os.strerror(error)}")

    @contextlib.contextmanager
    def _inside(self, node: str) -> Iterator[None]:
        self._enter(node)
        try:
            yield
        finally:
            self._enter(OWN)

    def _make_node(self, name: str) -> dict[str, Any]:
        if not name or name in self._namespaces:
            raise ValueError(f"node name {name!r} is empty or taken")
        try:
            if self._libc.unshare(CLONE_NEWNET) != 0:
                error = ctypes.get_errno()
                raise OSError(error, f"unshare: {os.strerror(error)}")
            self._namespaces[name] = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            self._enter(OWN)
        # This process is number 1 of its PID namespace, so this path opens the namespace for all in it.
        return {"path": f"/proc/1/fd/{self._namespaces[name]}"}

    def _run(self, node: str, argv: list[str]) -> dict[str, Any]:
        with self._inside(node):
            result = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=RUN_TIMEOUT_S, check=False
            )
        return {
            "status": result.returncode,
            "stdout": result.stdout.decode(errors="replace")[-20000:],
            "stderr": result.stderr.decode(errors="replace")[-20000:],
        }

    def _spawn(self, node: str, argv: list[str], descriptors: list[int]) -> dict[str, Any]:
        if len(descriptors) != 3:
            raise ValueError("spawn needs three descriptors")
        with self._inside(node):  # a child is born in the namespace that its parent is in
            child = subprocess.Popen(
                argv,
                stdin=descriptors[0],
                stdout=descriptors[1],
                stderr=descriptors[2],
                process_group=0,  # no new session: the kernel would schedule it as a group of its own
            )
        self._children[child.pid] = child
        return {"pid": child.pid}

    def _sysctl(self, node: str, key: str, value: str) -> dict[str, Any]:
        with self._inside(node), open(f"/proc/sys/{key.replace('.', '/')}", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(value)
        return {}

    def _can_open_tun(self) -> bool:
        try:
            os.close(os.open("/dev/net/tun", os.O_RDWR))
        except OSError:
            return False
        return True

    def _grant_buffer(self) -> int:
        """The largest receive buffer a socket may have here, up to what the emulator requests."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as tried:
            try:
                tried.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, EMULATOR_BUFFER_BYTES)
            except OSError:  # needs a privilege outside of the lab's own user namespace
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, EMULATOR_BUFFER_BYTES)
            return tried.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            child = self._children.pop(ended.si_pid, None)
            if child is None:  # an orphan of the lab: process 1 has to reap it
                os.waitpid(ended.si_pid, 0)
            else:
                self._send({"event": "exit", "pid": child.pid, "status": child.wait()})


def main() -> int:
    """Serve the lab on the socket whose descriptor is the only argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    read_end, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(write_end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # Not ignored: what is ignored here would be ignored by every command of the lab.
    signal.signal(signal.SIGINT, lambda *_: None)
    namespaces = NamespaceInit(control)
    control.send(json.dumps({"event": "ready", "pid": os.getpid()}).encode())
    with contextlib.suppress(BrokenPipeError, ConnectionError):
        namespaces.serve(read_end)
    return 0


if __name__ == "__main__":
    sys.exit(main())
