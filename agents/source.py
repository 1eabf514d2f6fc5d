"""Where host facts are read: small text files of /proc, /sys and /etc below one root."""

from __future__ import annotations

import os
from typing import List, Optional

MAX_FACT_BYTES = 1024 * 1024  # /proc/cpuinfo of a host with many cores is the largest


class Source:
    """Reads files below ``root`` (another one in tests) and collects why single ones could not be read."""

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self.reasons: List[str] = []

    def path(self, name: str) -> str:
        """The true path of an absolute ``name``."""
        return os.path.join(self.root, name.lstrip("/"))

    def text(self, name: str) -> str:
        """A file's text without the white space around it. OSError when it cannot be read."""
        with open(self.path(name), "rb") as file:
            return file.read(MAX_FACT_BYTES).decode("utf-8", "replace").strip()

    def optional(self, name: str) -> Optional[str]:
        """The same, or None with the reason kept."""
        try:
            return self.text(name)
        except OSError as error:
            self.reasons.append(f"{name}: {error.strerror or error}")
            return None

    def integer(self, name: str) -> Optional[int]:
        """A file that holds one integer, or None with the reason kept."""
        text = self.optional(name)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            self.reasons.append(f"{name}: {text[:40]!r} is not an integer")
            return None

    def names(self, name: str) -> List[str]:
        """Sorted names in a folder. OSError when it cannot be read."""
        return sorted(os.listdir(self.path(name)))

    def link_name(self, name: str) -> Optional[str]:
        """The last part of what a link points to, or None where there is no link."""
        try:
            return os.path.basename(os.readlink(self.path(name)))
        except OSError:
            return None

    def exists(self, name: str) -> bool:
        return os.path.exists(self.path(name))
