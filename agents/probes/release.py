"""The distribution, from /etc/os-release or /usr/lib/os-release (os-release(5))."""

from __future__ import annotations

import shlex
from typing import Any, Dict

from pathlab.agents.source import Source


def parse_release(text: str) -> Dict[str, str]:
    """The assignments of an os-release file; lines that are none are passed over."""
    values: Dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if not equals or name.startswith("#"):
            continue
        try:
            values[name] = "".join(shlex.split(value))
        except ValueError:  # an unclosed quote
            continue
    return values


def read_release(source: Source) -> Dict[str, Any]:
    """``id``, ``version`` and ``name`` of the distribution, null where the file does not say."""
    try:
        text = source.text("/etc/os-release")
    except OSError:
        text = source.text("/usr/lib/os-release")
    values = parse_release(text)
    return {
        "id": values.get("ID"),
        "version": values.get("VERSION_ID"),
        "name": values.get("PRETTY_NAME"),
    }
