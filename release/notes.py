"""The release note: the section of CHANGELOG.md about a version."""

from __future__ import annotations

import re

from release.commands import ReleaseError


def find_section(changelog: str, version: str) -> str:
    """The text below the heading ``## VERSION`` or ``## VERSION - DATE``. Raises ReleaseError without one."""
    heading = re.compile(rf"^## \[?{re.escape(version)}\]?(?: .*)?$", re.MULTILINE)
    found = heading.search(changelog)
    section = re.split(r"^## ", changelog[found.end() :], maxsplit=1, flags=re.MULTILINE)[0] if found else ""
    if not section.strip():
        raise ReleaseError(
            f"CHANGELOG.md has no section about version {version}",
            f"name the section of its changes '## {version} - DATE', and commit",
        )
    return section.strip() + "\n"
