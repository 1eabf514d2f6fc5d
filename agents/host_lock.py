"""One run at a time on a host, whoever starts it from wherever: a file of all users, held by flock(2).

The kernel lets go of it when the agent ends, however that happens. Agents of one run hold it together, since
several names may mean one host. Each network namespace has a lock of its own: a lab's nodes are no hosts.
The file lies where any user may write, so nothing that is found there is trusted or followed: a link, a
special file or a file that cannot be opened means no lock and a reason, not a failure.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from typing import Any, Dict, Mapping, Optional, Tuple

#: The first that every user may write to, so that all choose alike; nothing clears the first one by age.
FOLDERS = ("/run/lock", "/tmp")
FOLDER_VARIABLE = "PATHLAB_LOCK_FOLDER"  # another place, for hosts that have neither
OWNER_FIELDS = ("run", "campaign", "user", "controller")
MAX_OWNER_BYTES = 4096
MAX_TEXT_CHARACTERS = 200
TRIES = 5
PAUSE_S = 0.02  # another agent holds it alone for as long as it takes to write its name

_SHARED_MODE = 0o1777


class HostLock:
    """The right to measure on this host; ``answer`` is the result for the controller (PROTOCOL.md)."""

    def __init__(self, descriptor: Optional[int], path: str, answer: Dict[str, Any]) -> None:
        self._descriptor = descriptor
        self._path = path
        self.answer = answer

    def release(self) -> None:
        """Let go, and remove the file where nobody else holds it; a second call does nothing."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same(descriptor, self._path):
                os.unlink(self._path)
        except OSError:
            pass  # others of this run hold it, or it is not ours to remove
        finally:
            os.close(descriptor)


def take_host_lock(owner: Mapping[str, Any], folder: Optional[str] = None) -> HostLock:
    """Take this host for ``owner``; ``answer`` says whether that worked. ValueError: the owner has no name.

    ``answer``: ``held``; ``owner``, who holds it where another run does; ``reason``, what is wrong with the
    lock itself, which is then not held, or held without the owner's name in it.
    """
    name = {field: _read_text(owner, field) for field in OWNER_FIELDS}
    name["since_utc"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    path = ""
    try:
        path = os.path.join(folder or _find_folder(), "pathlab-host-%d.lock" % _network_namespace())
        return _try_often(path, name)
    except OSError as error:
        text = "%s: %s" % (path, _explain(error)) if path else str(error.strerror or error)
        return HostLock(None, path, {"held": False, "owner": None, "reason": text})


def _try_often(path: str, name: Dict[str, str]) -> HostLock:
    holder: Dict[str, str] = {}
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_S)
        descriptor = _open(path)
        try:
            kept, holder, reason = _try_once(descriptor, path, name)
        except BaseException:
            os.close(descriptor)
            raise
        if kept:
            return HostLock(descriptor, path, {"held": True, "owner": None, "reason": reason})
        os.close(descriptor)
    return HostLock(None, path, {"held": False, "owner": holder, "reason": None})


def _try_once(descriptor: int, path: str, name: Dict[str, str]) -> Tuple[bool, Dict[str, str], Optional[str]]:
    """Whether it is held now, who else holds it, and why the name is not in it."""
    reason = None
    if _flock(descriptor, fcntl.LOCK_EX):
        if not _is_same(descriptor, path):
            return False, {}, None  # its last holder removed it meanwhile
        try:
            _write_owner(descriptor, name)
        except OSError as error:
            reason = "%s: %s; others cannot see who holds it" % (path, _explain(error))
    if not _flock(descriptor, fcntl.LOCK_SH) or not _is_same(descriptor, path):
        return False, {}, None
    if reason is not None:
        return True, {}, reason
    holder = _read_owner(descriptor)
    return holder.get("run") == name["run"], holder, None


def _flock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _open(path: str) -> int:
    """The lock file, made for everybody if it is not there. Never follows a link, never waits."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)  # without O_CREAT: fs.protected_regular refuses it on others' files
    except FileNotFoundError:
        try:
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            descriptor = os.open(path, flags)
        else:
            os.fchmod(descriptor, 0o666)  # whatever the umask is
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a separate file")
    return descriptor


def _is_same(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _write_owner(descriptor: int, name: Dict[str, str]) -> None:
    data = json.dumps(name).encode("ascii")
    os.ftruncate(descriptor, 0)
    if os.pwrite(descriptor, data, 0) != len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _read_owner(descriptor: int) -> Dict[str, str]:
    """The owner that the file names: short printable texts alone."""
    try:
        result = json.loads(os.pread(descriptor, MAX_OWNER_BYTES, 0).decode("utf-8"))
    except (ValueError, OSError, RecursionError):
        return {}
    if not isinstance(result, dict):
        return {}
    texts = {field: result.get(field) for field in (*OWNER_FIELDS, "since_utc")}
    return {field: _clean(text) for field, text in texts.items() if isinstance(text, str)}


def _clean(text: str) -> str:
    return "".join(letter for letter in text[:MAX_TEXT_CHARACTERS] if letter.isprintable())


def _read_text(owner: Mapping[str, Any], field: str) -> str:
    text = owner.get(field)
    if not isinstance(text, str) or not text:
        raise ValueError("the lock's owner has no text '%s'" % field)
    return _clean(text)


def _find_folder() -> str:
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen:
        return chosen
    for folder in FOLDERS:
        try:
            mode = os.stat(folder).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode) and mode & _SHARED_MODE == _SHARED_MODE:
            return folder
    raise OSError(errno.ENOENT, "no folder that all users share: %s" % ", ".join(FOLDERS))


def _network_namespace() -> int:
    try:
        return os.stat("/proc/self/ns/net").st_ino
    except OSError:
        return 0


def _explain(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "is a symbolic link that somebody put there"
    return error.strerror or str(error)
