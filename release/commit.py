"""The commit that is released: its version, time, release note and files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from release.commands import ReleaseError, run_program
from release.notes import find_section


@dataclass(frozen=True)
class Commit:
    """The newest commit of a checkout, exported to ``folder``."""

    folder: Path
    version: str
    epoch_s: int
    contact: str
    note: str

    @property
    def environment(self) -> dict[str, str]:
        """What makes builds reproducible."""
        return {
            "SOURCE_DATE_EPOCH": str(self.epoch_s),
            "PYTHONHASHSEED": "0",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }


def read_version(checkout: Path) -> str:
    """The version of pathlab/_version.py, the only place that states it for Python."""
    text = (checkout / "pathlab" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'^VERSION = "([^"]+)"', text, re.MULTILINE)
    if found is None:
        raise ReleaseError("pathlab/_version.py has no VERSION", 'state it: VERSION = "1.2.3"')
    return found[1]


def check_versions(checkout: Path, version: str) -> None:
    """Raise ReleaseError where a file that has to state the version itself states another."""
    for name, pattern in (
        ("native/src/base/program.h", r'^#define PL_VERSION "([^"]+)"'),
        ("CITATION.cff", r"^version: (\S+)"),
    ):
        found = re.search(pattern, (checkout / name).read_text(encoding="utf-8"), re.MULTILINE)
        if found is None or found[1] != version:
            stated = found[1] if found else "no version"
            raise ReleaseError(
                f"{name} states {stated}, pathlab/_version.py {version}",
                f"state {version} in both, and commit",
            )


def check_clean(checkout: Path) -> None:
    """Raise ReleaseError where the files are not those of the newest commit."""
    changed = run_program(["git", "status", "--porcelain"], folder=checkout).splitlines()
    if changed:
        raise ReleaseError(
            f"{len(changed)} files differ from the newest commit, such as {changed[0][3:]}",
            "commit them or put them aside: git status",
        )


def export_commit(checkout: Path, folder: Path) -> Commit:
    """Check a checkout and export its newest commit to a new folder. Raises ReleaseError."""
    version = read_version(checkout)
    check_versions(checkout, version)
    note = find_section((checkout / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    check_clean(checkout)
    epoch, contact = run_program(["git", "log", "-1", "--format=%ct%n%ae"], folder=checkout).split()
    packed = folder.with_suffix(".tar")
    run_program(
        ["git", "-c", "tar.umask=0022", "archive", "--format=tar", "-o", packed, "HEAD"], folder=checkout
    )
    folder.mkdir()
    run_program(["tar", "-xf", packed, "-C", folder])
    packed.unlink()
    return Commit(folder, version, int(epoch), contact, note)
