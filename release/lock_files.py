"""What the lock files in ``requirements/`` pin: versions and digests, for every Python and machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

FOLDER = Path(__file__).resolve().parents[1] / "requirements"
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_PIN = re.compile(
    r"(?P<requirement>\S+==[^;\\]+?(?: ; [^\\]+?)?) \\\n(?P<hashes>(?: +--hash=\S+(?: \\)?\n)+)"
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Pin:
    """One version of a package; ``requirement`` says for which Pythons and machines."""

    requirement: Requirement
    sha256: frozenset[str]
    text: str

    @property
    def version(self) -> str:
        (specifier,) = self.requirement.specifier
        return specifier.version

    def holds_for(self, python: str) -> bool:
        """Whether it holds for a version of CPython, such as 3.12, on Linux x86_64."""
        environment = {
            "implementation_name": "cpython",
            "platform_machine": "x86_64",
            "platform_python_implementation": "CPython",
            "python_full_version": f"{python}.9",
            "python_version": python,
            "sys_platform": "linux",
        }
        marker = self.requirement.marker
        return marker is None or marker.evaluate(environment)


def parse_pins(text: str) -> list[Pin]:
    """The pins of a lock file. ValueError at a line that is none, has no digest, or names a place."""
    pins = []
    text = re.sub(r"\n{2,}", "\n", _COMMENT.sub("", text)).lstrip("\n")
    end = 0
    while end < len(text):
        found = _PIN.match(text, end)
        if found is None:
            raise ValueError(f"no version with its digests: {text[end : end + 80].splitlines()[0]}")
        digests = frozenset(_HASH.findall(found["hashes"]))
        if len(digests) != found["hashes"].count("--hash="):
            raise ValueError(f"digests other than SHA-256: {found['requirement']}")
        pins.append(Pin(Requirement(found["requirement"]), digests, found[0]))
        end = found.end()
    return pins


def read_pins(name: str, python: str) -> Mapping[str, Pin]:
    """The pins of a lock file, such as ``run``, for a version of CPython on Linux x86_64, by package."""
    pins = parse_pins((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    return {pin.requirement.name: pin for pin in pins if pin.holds_for(python)}
