"""Servers that cannot outlive the process that started them: namespaces, and what is left without them.

In namespaces of its own (user, mount, PID, IPC), this process mounts folders in memory and starts a first
process, with which the kernel ends all others, however they detach themselves. Servers run as user 65534,
since some refuse root. Where a host refuses user namespaces, this process takes in what its servers leave
behind, and ends and removes it; killed at once, it leaves a folder, which the next one removes.

This is for tidiness, not for security: user 65534 is the agent's user, with its files.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import time
from typing import Iterable, List, Mapping, Optional

from pathlab.agents.adapters.scratch import scratch_folder
from pathlab.agents.listeners import list_descendants
from pathlab.agents.peers import die_with_parent

FOLDER_BYTES = 1 << 30
INNER_USER = 65534
END_S = 1.0  # from SIGTERM to SIGKILL, without namespaces
_FOLDER = "adapter-folder"
_TMP = "/tmp"  # where some servers write whatever TMPDIR is, nghttpd for one

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID = 0x20000, 0x8000000, 0x10000000, 0x20000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 2, 4, 0x4000, 0x40000
_MNT_DETACH = 2
_PR_SET_CHILD_SUBREAPER = 36
_IPC_RMID = 0
_LIBC = ctypes.CDLL(None, use_errno=True)


def probe_namespaces(cache: str) -> Optional[str]:
    """Why this host gives no sandbox; None where it does. Tried in a process that ends at once."""
    mount_point = _make_mount_point(cache)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _unshare_all([mount_point], 1 << 20)
            _change_user()  # a limit of namespaces may allow the first alone
        except OSError as error:
            os.write(writing, str(error.strerror or error).encode("utf-8", "replace"))
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        reason = pipe.read().decode("utf-8", "replace")
    os.waitpid(pid, 0)
    return reason or None


def run_in_first_process() -> None:
    """Before a program starts: make it the first process of a PID namespace, with which all below end.

    It returns in that process; the other one waits for it, and ends with its parent. OSError.
    """
    parent = os.getppid()
    user, group = os.getuid(), os.getgid()
    _call("unshare", _NEWUSER | _NEWPID)
    _map_user(0, user, group)
    die_with_parent()  # both: the kernel may have cleared it with the change of user
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        return
    os.closerange(3, 1024)
    if os.getppid() != parent:
        os._exit(1)  # it was killed meanwhile
    status = os.waitpid(pid, 0)[1]
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def _make_mount_point(cache: str) -> str:
    """The empty folder of the cache over which each sandbox mounts its own, unseen by all others."""
    path = os.path.join(cache, _FOLDER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    return path


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _map_user(inner: int, outer_user: int, outer_group: int) -> None:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inner} {outer_user} 1"),
        ("gid_map", f"{inner} {outer_group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def _change_user() -> None:
    """Be user 65534, in a user namespace below the sandbox's."""
    _call("unshare", _NEWUSER)
    _map_user(INNER_USER, 0, 0)


def _is_below_tmp(path: str) -> bool:
    """Whether a path leads through /tmp, by its name or by where its links lead."""
    inside = (os.path.join(_TMP, ""), os.path.join(os.path.realpath(_TMP), ""))
    return any(form.startswith(inside) for form in (os.path.abspath(path), os.path.realpath(path)))


def _unshare_all(folders: List[str], size_bytes: int) -> None:
    """Move this process into namespaces, in which the folders are in memory and empty, each up to that size.

    Its next children are in the new PID namespace. OSError.
    """
    user, group = os.getuid(), os.getgid()
    _call("unshare", _NEWUSER | _NEWNS | _NEWPID | _NEWIPC)
    _map_user(0, user, group)
    _call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    options = f"size={size_bytes},mode=700".encode()
    for folder in filter(os.path.isdir, folders):
        _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", _MS_NOSUID | _MS_NODEV, options)


class Sandbox:
    """Where one server and its responder run; ``close`` ends and removes everything.

    ``folder`` is theirs, ``namespaces`` states whether this is a sandbox or what is done without. With
    namespaces /dev/shm is theirs, too, and so is /tmp, unless the cache or one of the ``paths``, which they
    need, lies below it. The process that makes it stays in it. OSError where it cannot be made.
    """

    def __init__(self, cache: str, *, size_bytes: int, paths: Iterable[str] = ()) -> None:
        self.namespaces = probe_namespaces(cache) is None
        self.size_bytes = size_bytes if self.namespaces else None
        self.init_pid: Optional[int] = None
        self._scratch = contextlib.ExitStack()
        if self.namespaces:
            self.folder = _make_mount_point(cache)
            self._in_memory = [self.folder, "/dev/shm"]
            if not any(_is_below_tmp(path) for path in (cache, *paths)):
                self._in_memory.append(_TMP)
            _unshare_all(self._in_memory, size_bytes)
            die_with_parent()  # the kernel may have cleared it with the change of user
            self.init_pid, self._alive = _start_init()
        else:
            _call("prctl", _PR_SET_CHILD_SUBREAPER, 1)
            self.folder = self._scratch.enter_context(scratch_folder(cache))
            self._in_memory = [self.folder]

    def start(
        self, words: List[str], *, environment: Mapping[str, str], cores: List[int], memory_bytes: int
    ) -> subprocess.Popen:  # type: ignore[type-arg]  # not generic in Python 3.8
        """Start a program in the folder, with pipes. OSError (or SubprocessError) when it cannot be.

        It and its children may each have ``memory_bytes`` of data.
        """
        parent = os.getpid()

        def prepare() -> None:
            _limit_memory(memory_bytes)
            if self.namespaces:
                _change_user()
            die_with_parent()
            if cores:
                os.sched_setaffinity(0, cores)
            if not self.namespaces and os.getppid() != parent:
                os._exit(1)  # it was killed meanwhile; in namespaces, the first process ends this one

        return subprocess.Popen(
            words,
            cwd=self.folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            preexec_fn=prepare,  # noqa: PLW1509 -- this process has one thread
        )

    def is_full(self) -> bool:
        """Whether nothing more fits into the folder, or into another that is in memory."""
        for folder in self._in_memory:
            with contextlib.suppress(OSError):
                state = os.statvfs(folder)
                if state.f_bavail == 0 or state.f_favail == 0:
                    return True
        return False

    def has_init(self) -> bool:
        """Whether the first process runs, without which no other can; always true without namespaces."""
        return (
            self.init_pid is None
            or os.waitid(os.P_PID, self.init_pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        )

    def close(self) -> None:
        """End every process and remove the folder and what IPC leaves."""
        if self.init_pid is not None:
            os.close(self._alive)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.init_pid, signal.SIGKILL)
            _reap_all()
            _LIBC.umount2(os.fsencode(self.folder), _MNT_DETACH)
            return
        pids = set(_end_descendants())
        _remove_segments(pids)
        self._scratch.close()


def _limit_memory(limit_bytes: int) -> None:
    """Keep this process and its children to so much data each; a lower limit that is set already stays."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _start_init() -> "tuple[int, int]":
    """The first process of the new PID namespace, which takes in orphans, and a descriptor that holds it."""
    reading, alive = os.pipe()
    pid = os.fork()
    if pid:
        os.close(reading)
        return pid, alive
    try:
        os.dup2(reading, 0)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.closerange(3, 1024)
        die_with_parent()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # which the kernel keeps from a first process
        signal.signal(signal.SIGCHLD, _reap_orphans)
        os.read(0, 1)  # until whoever started it is gone
    finally:
        os._exit(0)


def _reap_orphans(_number: int, _frame: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _reap_all() -> None:
    """Wait for all children, which have been killed."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _end_descendants() -> List[int]:
    """SIGTERM, then SIGKILL, to all below this process; return who they were."""
    seen: List[int] = []
    deadline_s = time.monotonic() + END_S
    number = signal.SIGTERM
    while True:
        _reap_orphans(0, None)
        left = list_descendants(os.getpid())[1:]
        if not left:
            return seen
        late = time.monotonic() >= deadline_s
        for pid in left:
            if late or pid not in seen:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if late else number)
        seen += [pid for pid in left if pid not in seen]
        time.sleep(0.01)


def _remove_segments(pids: "set[int]") -> None:
    """Remove System V shared memory that these processes made: PostgreSQL, killed, leaves a segment."""
    with contextlib.suppress(OSError):
        with open("/proc/sysvipc/shm", encoding="ascii") as lines:
            rows = [line.split() for line in lines][1:]
        for row in rows:
            if int(row[4]) in pids:
                _LIBC.shmctl(int(row[1]), _IPC_RMID, None)
