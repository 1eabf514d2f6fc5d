"""What is put on a host: the agent as one zip, the same bytes every time, stored by content hash."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from pathlab import _version, agents
from pathlab.agents import cache
from pathlab.agents.adapters import manifest
from pathlab.errors import HostError, Stage

_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
_ADAPTER_SUFFIXES = (".c", ".cc", ".java", ".pl")  # setup.py packs these
_PACKAGE_INIT = '"""PathLab as an agent sees it: only what runs on a host."""\n'


def pack_files(contents: Mapping[str, bytes]) -> bytes:
    """A zip of files by their names. Its bytes depend on names and contents alone.

    Entries are stored, not deflated, because deflated bytes depend on the zlib at hand.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
            entry.create_system = 3  # Unix, whatever the controller runs on
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, contents[name])
    return buffer.getvalue()


def build_agent_zip(environment: Mapping[str, str] = os.environ) -> bytes:
    """The agent as a runnable zip, with all technologies and the sources that these are linked with.

    Its bytes depend on the agent's sources, the version, and the adapters in this user's folders alone.
    """
    root = Path(agents.__file__).parent
    entries = {"pathlab/__init__.py": _PACKAGE_INIT.encode()}
    entries["pathlab/_version.py"] = Path(_version.__file__).read_bytes()
    entries["__main__.py"] = (root / "__main__.py").read_bytes()
    for path in [*root.rglob("*.py"), *_list_technology_files(root / "adapters")]:
        entries["pathlab/agents/" + path.relative_to(root).as_posix()] = path.read_bytes()
    for path in _list_harness_sources():
        entries["native/src/" + path.relative_to(find_native_sources()).as_posix()] = path.read_bytes()
    for number, folder in enumerate(manifest.list_user_folders(environment)):
        for path in manifest.list_adapter_files([Path(folder)]):
            entries[f"adapters/{number}/{path.name}"] = path.read_bytes()
    return pack_files(entries)


def _list_technology_files(folder: Path) -> list[Path]:
    """Adapters and harnesses that are no Python."""
    paths = [*folder.iterdir(), *(folder / "harness").iterdir()]
    return [path for path in paths if path.suffix in _ADAPTER_SUFFIXES and path.is_file()]


def _list_harness_sources() -> list[Path]:
    """The engine's sources that adapters in C and C++ are linked with; none where they are not at hand."""
    folder = find_native_sources()
    try:
        names = (folder / "adapter" / "sources.txt").read_text(encoding="utf-8").split()
    except OSError:
        return []
    return [folder / name for name in names]


def find_native_sources(package: Path | None = None) -> Path:
    """The folder ``src`` of the engine: the checkout's, or the one that came with an installed PathLab."""
    package = package or Path(_version.__file__).resolve().parent
    checkout = package.parent / "native"
    return (checkout if (checkout / "Makefile").is_file() else package / "_native") / "src"


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def ensure_agent(*, host: str = "local", environment: Mapping[str, str] = os.environ) -> Path:
    """The agent zip in this user's cache, put there if need be and verified.

    HostError (stage deploy) when no folder can take it, naming every folder tried and why it could not.
    """
    return store_content(build_agent_zip(environment), "agent", ".zip", host=host, environment=environment)


def store_content(
    data: bytes, stem: str, suffix: str, *, host: str, environment: Mapping[str, str], mode: int = 0o600
) -> Path:
    """A private file with exactly ``data``, named by its hash, in the first cache folder that takes it."""
    digest = content_hash(data)
    name = f"{stem}-{digest[:32]}{suffix}"

    def put(folder: str) -> Path:
        path = Path(folder, name)
        cache.put_file(str(path), digest, mode, lambda: data)
        return path

    return put_in_cache(put, name, host=host, environment=environment)


def put_in_cache(put: Callable[[str], Path], name: str, *, host: str, environment: Mapping[str, str]) -> Path:
    """What ``put`` returns for the first folder of this user's cache where it raises no OSError.

    HostError (stage deploy) when there is none, naming every folder tried and why it could not.
    """
    refusals: list[str] = []
    for folder in cache.list_cache_folders(environment, tempfile.gettempdir()):
        try:
            cache.prepare_folder(folder)
            return put(folder)
        except OSError as error:
            refusals.append(f"{folder}: {error.strerror or error}")
    raise HostError(
        f"cannot store {name}; {'; '.join(refusals)}",
        host=host,
        stage=Stage.DEPLOY,
        hint="free some space, or set XDG_CACHE_HOME to a folder that this user can write to",
    )
