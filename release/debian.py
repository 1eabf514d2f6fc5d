"""Debian packages of the engine, one for each machine that Debian has a name for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path

from release.archives import EXECUTABLE, READABLE, compress
from release.commands import run_program
from release.commit import Commit

PROGRAMS = {"dpkg-deb": "dpkg"}
#: Debian's names of machines by those of `uname -m`.
ARCHITECTURES = {
    "aarch64": "arm64",
    "armv7l": "armhf",
    "i686": "i386",
    "ppc64le": "ppc64el",
    "riscv64": "riscv64",
    "s390x": "s390x",
    "x86_64": "amd64",
}
PACKAGE = "pathlab-engine"
REVISION = 1
_TEMPLATES = Path(__file__).parent / "templates"
_BLOCK_BYTES = 1024


def build_package(commit: Commit, machine: str, engine: bytes, page: bytes, into: Path, work: Path) -> Path:
    """Build the package for a machine from its static engine and the engine's manual page."""
    architecture = ARCHITECTURES[machine]
    version = f"{commit.version}-{REVISION}"
    root = work / f"{PACKAGE}-{architecture}"
    files = _list_files(commit, version, engine, page)
    for name, (data, mode) in files.items():
        _write(root / name, data, mode)
    control = _fill(
        "control",
        version=version,
        architecture=architecture,
        contact=commit.contact,
        kilobytes=str(sum(-(-len(data) // _BLOCK_BYTES) for data, _ in files.values())),
    )
    sums = "".join(
        f"{hashlib.md5(data, usedforsecurity=False).hexdigest()}  {name}\n"
        for name, (data, _) in sorted(files.items())
    )
    _write(root / "DEBIAN" / "control", control, READABLE)
    _write(root / "DEBIAN" / "md5sums", sums.encode(), READABLE)
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        folder.chmod(EXECUTABLE)
    package = into / f"{PACKAGE}_{version}_{architecture}.deb"
    command: list[str | Path] = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, package]
    run_program(command, environment={**os.environ, **commit.environment})
    return package


def _list_files(commit: Commit, version: str, engine: bytes, page: bytes) -> Mapping[str, tuple[bytes, int]]:
    """Contents and mode by path."""
    date = formatdate(commit.epoch_s, usegmt=False)
    changelog = _fill(
        "changelog", version=version, upstream=commit.version, contact=commit.contact, date=date
    )
    documents = f"usr/share/doc/{PACKAGE}"
    return {
        f"usr/bin/{PACKAGE}": (engine, EXECUTABLE),
        f"usr/share/man/man1/{PACKAGE}.1.gz": (compress(page), READABLE),
        f"{documents}/copyright": (_fill("copyright"), READABLE),
        f"{documents}/changelog.gz": (compress(commit.note.encode()), READABLE),
        f"{documents}/changelog.Debian.gz": (compress(changelog), READABLE),
        f"usr/share/lintian/overrides/{PACKAGE}": (_fill("lintian-overrides"), READABLE),
    }


def _fill(name: str, **values: str) -> bytes:
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    return (text.format_map(values) if values else text).encode()


def _write(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
