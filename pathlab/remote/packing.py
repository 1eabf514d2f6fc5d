"""Zips for hosts: the same bytes every time, so that their hash names their content."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping

_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


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
