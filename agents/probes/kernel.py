"""The kernel's name, release, build and machine type, from /proc/sys/kernel and uname(2)."""

from __future__ import annotations

import os
from typing import Any, Dict

from pathlab.agents.source import Source


def read_kernel(source: Source) -> Dict[str, Any]:
    """``name``, ``release``, ``build``, ``machine`` and ``host_name``. OSError when the release is hidden."""
    return {
        "name": source.optional("/proc/sys/kernel/ostype"),
        "release": source.text("/proc/sys/kernel/osrelease"),
        "build": source.optional("/proc/sys/kernel/version"),
        "machine": os.uname().machine,
        "host_name": source.optional("/proc/sys/kernel/hostname"),
    }
