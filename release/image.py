"""The OCI image as one archive: Debian's Python, PathLab's wheel and its libraries. It needs no daemon."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from release.archives import EXECUTABLE
from release.commands import run_program
from release.commit import Commit
from release.debian import ARCHITECTURES
from release.lock_files import read_pins
from release.sbom import read_debian_packages, write_image_bill

PROGRAMS = {"mmdebstrap": "mmdebstrap", "buildah": "buildah"}
SUITE = "bookworm"
PYTHON = "3.11"
#: libstdc++6: wheels for manylinux expect it. iproute2: labs.
PACKAGES = ("python3", "libstdc++6", "iproute2")
_LIBRARIES = f"usr/local/lib/python{PYTHON}/dist-packages"
_GLIBC_MINORS = range(17, 37)
_USER = "pathlab"
_USER_ID = 1000
_FOLDER = "/results"
_LAUNCHER = "#!/usr/bin/python3 -I\nfrom pathlab.cli.main import main\n\nmain()\n"
#: Nobody reads these inside an image; licences stay.
_LEFT_OUT = ("doc/*", "man/*", "locale/*", "info/*", "lintian/*", "bash-completion/*", "zoneinfo/*")


def build_image(commit: Commit, wheel: Path, engines: Mapping[str, bytes], into: Path, work: Path) -> Path:
    """Build the image for this machine, and its bill of materials beside it.

    As an ordinary user it needs subordinate user ids (see subuid(5))."""
    files = _install_libraries(wheel, work / "image")
    root = work / "root.tar"
    run_program(_list_bootstrap(files, root), environment={**os.environ, **commit.environment})
    try:
        archive = _pack(commit, root, into, work)
        write_image_bill(commit, archive, wheel, engines, read_debian_packages(root, SUITE), PYTHON)
        return archive
    finally:
        root.unlink()


def _install_libraries(wheel: Path, folder: Path) -> Path:
    """PathLab and its libraries for the image's Python, which is not this one, as files below ``folder``."""
    machine = platform.machine()
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in _GLIBC_MINORS]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
    ]
    command += ["--only-binary", ":all:", "--implementation", "cp", "--python-version", PYTHON]
    for name in (*platforms, f"manylinux2014_{machine}"):
        command += ["--platform", name]
    libraries = folder / _LIBRARIES
    command += ["--no-deps", "--target", str(libraries)]
    # pip would choose by this Python where versions differ.
    pins = folder.with_suffix(".txt")
    pins.write_text("".join(pin.text for pin in read_pins("run", PYTHON).values()), encoding="utf-8")
    run_program([*command, "--require-hashes", "-r", str(pins)])
    run_program([*command, str(wheel)])
    for name in ("bin", "share"):  # scripts for this interpreter, manual pages
        shutil.rmtree(libraries / name, ignore_errors=True)
    for tests in [path for path in libraries.rglob("tests") if path.is_dir()]:
        shutil.rmtree(tests, ignore_errors=True)
    launcher = folder / "usr/local/bin/pathlab"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(_LAUNCHER, encoding="ascii")
    launcher.chmod(EXECUTABLE)
    return folder


def _list_bootstrap(files: Path, root: Path) -> list[str | Path]:
    """The command that makes the image's files: Debian's packages, then ours, byte code, user and folder."""
    user = f"{_USER}:x:{_USER_ID}:{_USER_ID}::/home/{_USER}:/bin/sh"
    hooks = [
        f"sync-in {files} /",
        f'chroot "$1" python3 -m compileall -q -j 2 --invalidation-mode unchecked-hash /{_LIBRARIES}',
        f'echo {user} >> "$1/etc/passwd" && echo {_USER}:x:{_USER_ID}: >> "$1/etc/group"',
        f'install -d -m 1777 "$1/home/{_USER}" "$1{_FOLDER}"',
    ]
    left_out = [f"path-exclude=/usr/share/{name}" for name in _LEFT_OUT]
    options = [f"--dpkgopt={line}" for line in (*left_out, "path-include=/usr/share/doc/*/copyright")]
    options += [f"--customize-hook={hook}" for hook in hooks]
    command = [
        "mmdebstrap",
        "--quiet",
        "--variant=essential",
        "--skip=output/dev",
        f"--include={','.join(PACKAGES)}",
    ]
    return [*command, *options, SUITE, root, *_find_sources()]


def _find_sources() -> list[Path]:
    """Where apt finds the suite on this machine; mmdebstrap knows a place itself where apt does not."""
    apt = Path("/etc/apt")
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.sources"))]
    files += sorted((apt / "sources.list.d").glob("*.list"))
    return [path for path in files if path.is_file() and SUITE in path.read_text(encoding="utf-8")]


def _pack(commit: Commit, root: Path, into: Path, work: Path) -> Path:
    """Make a layer of the files, and an archive of it with its settings."""
    archive = into / f"pathlab-{commit.version}-oci-{ARCHITECTURES[platform.machine()]}.tar"
    labels = {"title": "pathlab", "version": commit.version, "licenses": "Apache-2.0"}
    settings = [f"--label=org.opencontainers.image.{key}={value}" for key, value in labels.items()]
    settings += ['--entrypoint=["pathlab"]', f"--user={_USER}", f"--workingdir={_FOLDER}"]
    settings += [f"--env=HOME=/home/{_USER}", "--env=LANG=C.UTF-8"]
    container = run_buildah(work, "from", "scratch")
    run_buildah(work, "add", container, str(root), "/")
    run_buildah(work, "config", *settings, container)
    options = ["--rm", "--disable-compression=false", f"--timestamp={commit.epoch_s}", write_policy(work)]
    run_buildah(work, "commit", *options, container, f"oci-archive:{archive}:pathlab:{commit.version}")
    return archive


def run_buildah(work: Path, *words: str) -> str:
    """Run buildah with its state in a folder and return its output."""
    state = [f"--root={work}/storage", f"--runroot={work}/run", "--storage-driver=vfs"]
    return run_program(["buildah", *state, *words]).strip()


def write_policy(work: Path) -> str:
    """The option for commands that copy images: these come from here, and nobody signs them."""
    policy = work / "policy.json"
    policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}\n', encoding="ascii")
    return f"--signature-policy={policy}"
