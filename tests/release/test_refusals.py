"""What `make release` refuses: one line names the culprit, one the fix, and dist/ stays as it was."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pathlab import __version__
from release.__main__ import replace_folder
from release.commands import ReleaseError
from release.commit import check_versions, read_version
from release.notes import find_section
from tests.checkout import ROOT
from tests.release.making import commit_all, release, run_git


def replace(name: str, old: str, new: str, *, committed: bool = True) -> Callable[[Path], None]:
    """A change of a checkout."""

    def change(checkout: Path) -> None:
        path = checkout / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        if committed:
            commit_all(checkout)

    return change


@pytest.mark.parametrize(
    ("change", "message", "fix"),
    [
        (
            replace("CHANGELOG.md", f"## {__version__}", "## Unreleased"),
            f"CHANGELOG.md has no section about version {__version__}",
            f"name the section of its changes '## {__version__} - DATE'",
        ),
        (
            replace("CITATION.cff", f"version: {__version__}", "version: 0.0.9"),
            f"CITATION.cff states 0.0.9, pathlab/_version.py {__version__}",
            f"state {__version__} in both",
        ),
        (
            replace("native/src/base/program.h", f'PL_VERSION "{__version__}"', 'PL_VERSION "9.0"'),
            f"native/src/base/program.h states 9.0, pathlab/_version.py {__version__}",
            f"state {__version__} in both",
        ),
        (
            replace("README.md", "# PathLab", "# Changed", committed=False),
            "1 files differ from the newest commit, such as README.md",
            "git status",
        ),
    ],
    ids=["no section", "citation", "engine", "changed file"],
)
def test_a_checkout_that_is_no_release_is_refused(
    tmp_path: Path, released_checkout: Path, change: Callable[[Path], None], message: str, fix: str
) -> None:
    checkout = tmp_path / "checkout"
    run_git(tmp_path, "clone", "--quiet", str(released_checkout), str(checkout))
    change(checkout)
    into = tmp_path / "dist"
    into.mkdir()
    (into / "pathlab-0.0.1.whl").touch()
    done = release(checkout, into, "--no-image")
    assert done.status == 3
    first, second = done.errors
    assert first == f"pathlab: {message}."
    assert second.startswith("  fix: ")
    assert fix in second
    assert [path.name for path in into.iterdir()] == ["pathlab-0.0.1.whl"]


def test_every_file_that_states_the_version_agrees() -> None:
    assert read_version(ROOT) == __version__
    check_versions(ROOT, __version__)


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path, released_checkout: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    done = release(released_checkout, tmp_path)
    assert (done.status, done.errors) == (
        3,
        [
            f"pathlab: '{tmp_path}' has other files, such as thesis.txt.",
            "  fix: name an empty folder with --into",
        ],
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_that_cannot_be_replaced_keeps_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, into = tmp_path / "made", tmp_path / "dist"
    for folder in (made, into):
        folder.mkdir()
        (folder / f"pathlab-{folder.name}").touch()

    def fill_disk(*_paths: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "move", fill_disk)
    with pytest.raises(OSError, match="No space"):
        replace_folder(into, made)
    assert [path.name for path in into.iterdir()] == ["pathlab-dist"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dist", "made"]
    monkeypatch.undo()
    replace_folder(into, made)
    assert [path.name for path in into.iterdir()] == ["pathlab-made"]


def test_programs_that_are_missing_are_named_with_their_packages(
    tmp_path: Path, released_checkout: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git").symlink_to(str(shutil.which("git")))
    done = release(released_checkout, tmp_path / "dist", path=str(programs))
    assert done.status == 3
    assert done.errors == [
        "pathlab: no 'dpkg-deb', 'mmdebstrap', 'buildah' here, needed for a release.",
        "  fix: Debian: apt-get install dpkg mmdebstrap buildah",
    ]


CHANGELOG = """# Changelog

## Unreleased

- Later.

## 1.2.0 - 2027-01-02

### Engine

- Faster.

## 1.1.0

- First.
"""


def test_the_release_note_is_the_section_of_the_version() -> None:
    assert find_section(CHANGELOG, "1.2.0") == "### Engine\n\n- Faster.\n"
    assert find_section(CHANGELOG, "1.1.0") == "- First.\n"
    assert find_section("## [1.1.0]\n\n- First.\n", "1.1.0") == "- First.\n"


@pytest.mark.parametrize("version", ["1.2", "1x2.0", "0.9", "2.0.0"])
def test_a_version_without_a_section_has_no_release_note(version: str) -> None:
    with pytest.raises(ReleaseError, match=f"no section about version {version}"):
        find_section(CHANGELOG + "\n## 2.0.0\n\n", version)
