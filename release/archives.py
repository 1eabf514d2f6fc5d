"""Archives whose bytes depend on their contents and the release's time only."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

EXECUTABLE = 0o755
READABLE = 0o644


def compress(data: bytes) -> bytes:
    """Gzip without name and time, as `gzip -9n` makes it."""
    return gzip.compress(data, compresslevel=9, mtime=0)


def write_tarball(path: Path, files: Mapping[str, bytes], epoch_s: int) -> None:
    """Write a .tar.gz of readable files, in the order of their names."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(data), READABLE, epoch_s
            archive.addfile(member, io.BytesIO(data))
    path.write_bytes(compress(packed.getvalue()))


def normalize_tarball(path: Path, epoch_s: int) -> None:
    """Rewrite a .tar.gz: members by name, owned by root, none newer than the release."""
    packed = io.BytesIO()
    with (
        tarfile.open(path) as archive,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as sorted_archive,
    ):
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            member.mtime = epoch_s
            member.pax_headers = {}
            member.mode = EXECUTABLE if member.isdir() or member.mode & 0o100 else READABLE
            sorted_archive.addfile(member, archive.extractfile(member) if member.isreg() else None)
    path.write_bytes(compress(packed.getvalue()))
