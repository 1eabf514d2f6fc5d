"""What is put on a host: the agent as one zip, the same bytes every time, stored by content hash.

Entries are stored, not deflated, because deflated bytes depend on the zlib at hand.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pathlab import _version, agents
from pathlab.errors import HostError

_PACKAGE_INIT = '"""PathLab as an agent sees it: only what runs on a host."""\n'
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def build_agent_zip() -> bytes:
    """The agent as a runnable zip. Its bytes depend on the agent's sources and the version alone."""
    root = Path(agents.__file__).parent
    entries = {"pathlab/__init__.py": _PACKAGE_INIT.encode()}
    entries["pathlab/_version.py"] = Path(_version.__file__).read_bytes()
    entries["__main__.py"] = (root / "__main__.py").read_bytes()
    for path in root.rglob("*.py"):
        entries["pathlab/agents/" + path.relative_to(root).as_posix()] = path.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
            entry.create_system = 3  # Unix, whatever the controller runs on
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, entries[name])
    return buffer.getvalue()


def content_hash(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def ensure_agent(*, host: str = "local", environment: Mapping[str, str] = os.environ) -> Path:
    """The agent zip in this user's cache, put there if need be and verified.

    HostError (stage deploy) when no folder can take it, naming every folder tried and why it could not.
    """
    return store_content(build_agent_zip(), "agent", ".zip", host=host, environment=environment)


def store_content(data: bytes, stem: str, suffix: str, *, host: str, environment: Mapping[str, str]) -> Path:
    """A private file with exactly ``data``, named by its hash, in the first cache folder that takes it."""
    name = f"{stem}-{content_hash(data)[:32]}{suffix}"
    refusals: list[str] = []
    for folder in _cache_folders(environment):
        try:
            _prepare_folder(folder)
            path = folder / name
            if not _holds(path, data):
                _write_atomically(path, data)
                if not _holds(path, data):
                    raise OSError(errno.EIO, "what was written reads back differently")
        except OSError as error:
            refusals.append(f"{folder}: {error.strerror or error}")
        else:
            return path
    raise HostError(
        f"cannot store {name}; {'; '.join(refusals)}",
        host=host,
        stage="deploy",
        hint="free some space, or set XDG_CACHE_HOME to a folder that this user can write to",
    )


def _cache_folders(environment: Mapping[str, str]) -> Iterator[Path]:
    # XDG Base Directory Specification: a relative path is to be ignored.
    for base in (environment.get("XDG_CACHE_HOME", ""), str(Path(environment.get("HOME", ""), ".cache"))):
        if Path(base).is_absolute():
            yield Path(base, "pathlab")
            break
    yield Path(tempfile.gettempdir(), f"pathlab-{os.getuid()}")


def _prepare_folder(folder: Path) -> None:
    """Make sure of a real folder that is ours alone; in a shared place a stranger may have made it first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder")
    if state.st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "belongs to another user")
    if stat.S_IMODE(state.st_mode) & 0o022:
        raise PermissionError(errno.EPERM, "others may write to it")


def _holds(path: Path, data: bytes) -> bool:
    try:
        return not path.is_symlink() and path.read_bytes() == data
    except FileNotFoundError:
        return False


def _write_atomically(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=path.name, suffix=".new", dir=path.parent)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
