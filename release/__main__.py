"""``python -m release``: checks the checkout, then writes the files of its version into ``dist/``."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from release import debian, image
from release.archives import EXECUTABLE, write_tarball
from release.commands import ReleaseError, require_programs
from release.commit import Commit, export_commit
from release.completions import make_completions
from release.python_packages import build_sdist, build_wheel
from release.sbom import write_wheel_bill
from release.signing import ENDING, find_signing_key, sign
from release.wheel_files import read_engines, read_manual

CHECKOUT = Path(__file__).resolve().parents[1]
NOTES = "RELEASE-NOTES.md"
SUMS = "SHA256SUMS"


def write_release(into: Path, *, with_image: bool) -> None:
    """Write all files of the newest commit's version into a folder that they replace. Raises ReleaseError."""
    check_folder(into)
    programs = {"git": "git", **debian.PROGRAMS, **(image.PROGRAMS if with_image else {})}
    require_programs(programs)
    key = find_signing_key()
    with tempfile.TemporaryDirectory(prefix="pathlab-release-") as folder:
        work = Path(folder)
        commit = export_commit(CHECKOUT, work / "commit")
        print(f"Making the release of PathLab {commit.version}", flush=True)
        made = work / "dist"
        made.mkdir()
        (made / NOTES).write_text(commit.note, encoding="utf-8")
        _write_files(commit, made, work, with_image=with_image)
        _write_sums(made)
        if key is not None:
            sign(made / SUMS, key)
        replace_folder(into, made)
    print(f"{into}/{SUMS} has their digests{'' if key is None else f', {SUMS}{ENDING} its signature'}.")


def check_folder(into: Path) -> None:
    """Raise ReleaseError where a release would replace other files than an earlier one's."""
    names = sorted(path.name for path in into.iterdir()) if into.is_dir() else [into.name] * into.exists()
    others = [
        name for name in names if not name.startswith("pathlab") and name not in (NOTES, SUMS, SUMS + ENDING)
    ]
    if others:
        raise ReleaseError(
            f"'{into}' has other files, such as {others[0]}", "name an empty folder with --into"
        )


def replace_folder(into: Path, made: Path) -> None:
    """The old files go when the new ones are complete on the same file system."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".pathlab-release-") as beside:
        complete = shutil.move(made, Path(beside) / "new")
        if into.exists():
            into.rename(Path(beside) / "old")
        Path(complete).rename(into)


def _write_files(commit: Commit, into: Path, work: Path, *, with_image: bool) -> None:
    build_sdist(commit, into)
    wheel = build_wheel(commit, into)
    manual, engines = read_manual(wheel), read_engines(wheel)
    for machine, engine in engines.items():
        program = into / f"pathlab-engine-{commit.version}-{machine}"
        program.write_bytes(engine)
        program.chmod(EXECUTABLE)
        page = manual["man1/pathlab-engine.1"]
        debian.build_package(commit, machine, engine, page, into, work)
    write_tarball(into / f"pathlab-{commit.version}-man.tar.gz", manual, commit.epoch_s)
    completions = make_completions(commit)
    write_tarball(into / f"pathlab-{commit.version}-completions.tar.gz", completions, commit.epoch_s)
    write_wheel_bill(commit, wheel, engines, into, image.PYTHON)
    if with_image:
        image.build_image(commit, wheel, engines, into, work)


def _write_sums(into: Path) -> None:
    lines = []
    for path in sorted(into.iterdir()):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
        print(f"{path.stat().st_size / 1e6:9.2f} MB  {path.name}")
    (into / SUMS).write_text("".join(lines), encoding="ascii")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--into", type=Path, default=CHECKOUT / "dist", help="replaced with the release")
    parser.add_argument("--no-image", action="store_true", help="leave the OCI image out")
    given = parser.parse_args(arguments)
    try:
        write_release(given.into, with_image=not given.no_image)
    except ReleaseError as error:
        return _refuse(str(error), error.fix)
    except OSError as error:  # a full disk, or a folder where this user may not write
        return _refuse(str(error), "free space, or name another folder with --into or $TMPDIR")
    return 0


def _refuse(message: str, fix: str) -> int:
    print(f"pathlab: {message}.\n  fix: {fix}", file=sys.stderr)
    return 3


if __name__ == "__main__":
    sys.exit(main())
