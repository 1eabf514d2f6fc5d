"""A checkout of its own to release, and the release made from it."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pathlab import __version__
from release.image import PROGRAMS as IMAGE_PROGRAMS
from tests.checkout import copy_checkout

IDENTITY = {"user.name": "Maintainer", "user.email": "maintainer@pathlab.org", "commit.gpgsign": "false"}
TIME = "2026-11-22T00:00:00Z"
MAKING_SECONDS = 900
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MAN_KEEP_FORMATTING": ""}


@dataclass(frozen=True)
class Done:
    """How a release ended."""

    status: int
    out: str
    errors: list[str]


def run_git(folder: Path, *words: str) -> str:
    """Run git with an identity of its own and return its output."""
    options = [word for key, value in IDENTITY.items() for word in ("-c", f"{key}={value}")]
    command = ["git", *options, *words]
    environment = {**os.environ, "GIT_COMMITTER_DATE": TIME, "GIT_AUTHOR_DATE": TIME}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def commit_checkout(folder: Path) -> Path:
    """Copy the files of this checkout as they are now and commit them, with a changelog for the version."""
    copy_checkout(folder)
    changelog = folder / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if f"\n## {__version__}" not in text:  # nothing was released yet
        changelog.write_text(
            text.replace("\n## Unreleased\n", f"\n## {__version__} - 2026-11-22\n"), encoding="utf-8"
        )
    run_git(folder, "init", "--quiet")
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "--message", "Release")
    return folder


def can_build_image() -> bool:
    """Whether this user is root and what builds the image is here; others need subordinate user ids."""
    return os.geteuid() == 0 and all(shutil.which(program) for program in IMAGE_PROGRAMS)


def run(*command: str | Path, folder: Path | None = None) -> str:
    """The output of a program that succeeds and reports nothing. Errors of it fail the test."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def find(dist: Path, pattern: str) -> Path:
    """The one file of a release with such a name."""
    (path,) = dist.glob(pattern)
    return path


def release(checkout: Path, into: Path, *words: str) -> Done:
    """``make release`` without the set-up of an environment."""
    done = subprocess.run(
        [sys.executable, "-m", "release", "--into", str(into), *words],
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=MAKING_SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr.splitlines())
