"""What `make release` refuses: one line names the culprit, one the fix, and dist/ stays as it was."""

import errno
import shutil
from pathlib import Path

import pytest

from pathlab import __version__
from release.__main__ import check_folder, replace_folder, write_release
from release.commands import ReleaseError
from release.commit import check_versions, read_version
from release.notes import find_section
from tests.checkout import ROOT
from tests.release.making import release, run_git


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("CITATION.cff", f"version: {__version__}", "version: 9.0"),
        ("native/src/base/program.h", f'PL_VERSION "{__version__}"', 'PL_VERSION "9.0"'),
    ],
)
def test_a_file_that_states_another_version_is_named(tmp_path: Path, name: str, old: str, new: str) -> None:
    for path in ("CITATION.cff", "native/src/base/program.h"):
        text = (ROOT / path).read_text(encoding="utf-8")
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text.replace(old, new) if path == name else text, encoding="utf-8")
    with pytest.raises(
        ReleaseError, match=f"^{name} states 9.0, pathlab/_version.py {__version__}"
    ) as caught:
        check_versions(tmp_path, __version__)
    assert caught.value.fix.startswith(f"state {__version__} in both")


def test_a_changed_file_ends_the_release_and_leaves_the_folder(
    tmp_path: Path, released_checkout: Path
) -> None:
    checkout, into = tmp_path / "checkout", tmp_path / "dist"
    run_git(tmp_path, "clone", "--quiet", str(released_checkout), str(checkout))
    (checkout / "README.md").write_text("# Changed", encoding="utf-8")
    into.mkdir()
    (into / "pathlab-0.0.1.whl").touch()
    done = release(checkout, into, "--no-image")
    assert (done.status, done.errors) == (
        3,
        [
            "pathlab: 1 files differ from the newest commit, such as README.md.",
            "  fix: commit them or put them aside: git status",
        ],
    )
    assert [path.name for path in into.iterdir()] == ["pathlab-0.0.1.whl"]


def test_every_file_that_states_the_version_agrees() -> None:
    assert read_version(ROOT) == __version__
    check_versions(ROOT, __version__)


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(ReleaseError, match=r"such as thesis\.txt") as caught:
        check_folder(tmp_path)
    assert caught.value.fix == "name an empty folder with --into"


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReleaseError, match=r"no 'git', 'dpkg-deb', 'mmdebstrap', 'buildah' here") as caught:
        write_release(tmp_path / "dist", with_image=True)
    assert caught.value.fix == "Debian: apt-get install git dpkg mmdebstrap buildah"


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
