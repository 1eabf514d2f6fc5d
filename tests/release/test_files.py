"""Every file of a release is installed and run, as its users do it; nothing of the checkout is used."""

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

from pathlab import __version__
from pathlab.cli.main import SUBCOMMANDS
from pathlab.remote.machines import find_own_machine, read_machine
from release.debian import ARCHITECTURES
from release.image import run_buildah, write_policy
from tests.machines.engines import MACHINES
from tests.native.engine import MS, start
from tests.release.making import ENVIRONMENT, MAKING_SECONDS, can_build_image, find, release, run
from tests.release.wheels import check_content, check_engines, check_sources
from tests.require import require, require_namespaces

#: The first test waits for the whole release to be made, so one process runs all of them (tests/tiers.py).
pytestmark = pytest.mark.timeout(MAKING_SECONDS)


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel without its libraries, which come from the environment of the tests."""
    venv.create(folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel)
    packages = run(python, "-c", "import site; print(site.getsitepackages()[0])").strip()
    own = [path for path in sys.path if path.endswith("site-packages")]
    (Path(packages) / "libraries.pth").write_text("\n".join(own), encoding="utf-8")
    return folder / "bin" / "pathlab"


MEASURE = ("measure", "local", "--time", "1", "--json")


def assert_complete(shown: str) -> None:
    trial = json.loads(shown)["trial"]
    assert trial["status"] == "complete"
    assert trial["throughput_bits_per_s"] > 0


def test_the_digests_are_those_of_all_files(dist: Path) -> None:
    names = {path.name for path in dist.iterdir()} - {"SHA256SUMS"}
    lines = (dist / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    assert {line.split()[1] for line in lines} == names
    run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", folder=dist)


def test_the_release_note_is_the_changelogs_section(dist: Path, released_checkout: Path) -> None:
    note = (dist / "RELEASE-NOTES.md").read_text(encoding="utf-8")
    changelog = (released_checkout / "CHANGELOG.md").read_text(encoding="utf-8")
    assert note.startswith("### ")
    assert f"\n## {__version__}" in changelog
    assert note in changelog


def test_the_wheel_has_the_engines_of_every_machine(dist: Path) -> None:
    wheel = find(dist, "*.whl")
    assert wheel.name == f"pathlab_analyzer-{__version__}-py3-none-any.whl"
    assert check_engines(wheel) == set(MACHINES)
    check_content(wheel)


def test_the_source_distribution_builds_and_measures(dist: Path, tmp_path: Path) -> None:
    """Its wheel has the engine and the tag of this machine."""
    sources = find(dist, f"pathlab_analyzer-{__version__}.tar.gz")
    check_sources(sources)
    command = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path)
    run(sys.executable, *command, sources)
    wheel = find(tmp_path, "*.whl")
    platform_tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name == f"pathlab_analyzer-{__version__}-py3-none-{platform_tag}.whl"
    assert check_engines(wheel) == {find_own_machine()}
    check_content(wheel)
    program = install(wheel, tmp_path / "environment")
    (tmp_path / "elsewhere").mkdir()
    assert run(program, "--version", folder=tmp_path) == f"pathlab {__version__}\n"
    assert_complete(run(program, *MEASURE, folder=tmp_path / "elsewhere"))


def test_every_bare_engine_is_one_of_the_wheel_and_of_its_machine(dist: Path) -> None:
    engines = {path.name.rpartition("-")[2]: path for path in dist.glob("pathlab-engine-*")}
    assert set(engines) == set(ARCHITECTURES)
    for machine, path in engines.items():
        assert read_machine(path) == machine
        assert path.stat().st_mode & 0o777 == 0o755
    shown = run(engines[find_own_machine()], "--version")
    assert shown.startswith(f"pathlab-engine {__version__} ")


def test_the_debian_package_installs_runs_and_leaves_nothing(dist: Path, tmp_path: Path) -> None:
    require(shutil.which("dpkg"), "dpkg")
    package = find(dist, f"pathlab-engine_{__version__}-1_{ARCHITECTURES[platform.machine()]}.deb")
    root = tmp_path / "root"
    for name in ("info", "updates"):
        (root / "var/lib/dpkg" / name).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    as_root = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    dpkg = [*as_root, "dpkg", f"--root={root}"]
    run(*dpkg, "--install", package)
    assert run(*dpkg, "--verify", "pathlab-engine") == ""
    engine = str(root / "usr/bin/pathlab-engine")
    with start("receive", engine, bind="127.0.0.1", port=0) as receiver:
        port = receiver.wait_for("listening")["port"]
        with start("send", engine, address="127.0.0.1", port=port, duration_ns=200 * MS) as sender:
            assert (sender.finish().status, receiver.finish().status) == (0, 0)
    page = show_manual(root / "usr/share/man/man1/pathlab-engine.1.gz")
    assert "pathlab-engine - measure throughput and round-trip times" in " ".join(page.split())
    run(*dpkg, "--purge", "pathlab-engine")
    assert [path for path in (root / "usr").rglob("*") if path.is_file()] == []


def test_debian_packages_hold_the_engine_of_their_machine(dist: Path, tmp_path: Path) -> None:
    for machine, architecture in ARCHITECTURES.items():
        package = find(dist, f"pathlab-engine_*_{architecture}.deb")
        names = ("Package", "Version", "Architecture")
        fields = run("dpkg-deb", "--field", package, *names).splitlines()
        stated = dict(zip(names, ("pathlab-engine", f"{__version__}-1", architecture), strict=True))
        assert fields == [f"{name}: {value}" for name, value in stated.items()]
        run("dpkg-deb", "--extract", package, tmp_path / machine)
        engine = tmp_path / machine / "usr/bin/pathlab-engine"
        assert engine.read_bytes() == find(dist, f"pathlab-engine-*-{machine}").read_bytes()


def test_lintian_finds_nothing_in_the_debian_package(dist: Path) -> None:
    require(shutil.which("lintian"), "lintian (apt-get install lintian)")
    package = find(dist, f"pathlab-engine_*_{ARCHITECTURES[platform.machine()]}.deb")
    assert run("lintian", "--allow-root", "--fail-on", "error,warning", package) == ""


def test_every_manual_page_of_the_archive_renders_without_a_warning(dist: Path, tmp_path: Path) -> None:
    require(shutil.which("man"), "man (apt-get install man-db)")
    run("tar", "-xf", find(dist, "*-man.tar.gz"), "-C", tmp_path)
    pages = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.[15]"))
    commands = [f"man1/pathlab-{name}.1" for name in SUBCOMMANDS]
    assert pages == sorted(["man1/pathlab.1", "man1/pathlab-engine.1", "man5/pathlab-campaign.5", *commands])
    shown = {page: show_manual(tmp_path / page) for page in pages if page.endswith(".1")}
    for page, text in shown.items():
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"):
            assert f"\n{heading}\n" in text, page
    for option in ("--set KEY=VALUE", "--json-events", "-h, --help"):
        assert option in shown["man1/pathlab-run.1"]


def show_manual(page: Path) -> str:
    """A page as `man` shows it, which has no warning."""
    done = subprocess.run(
        ["man", "--warnings", "-l", page], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), page.name
    return done.stdout


COMPLETING = {
    "bash": (
        "bash-completion/completions/pathlab",
        'source "$1"; complete -p pathlab; COMP_WORDS=(pathlab mea) COMP_CWORD=1;'
        ' _pathlab_completion pathlab; echo "${COMPREPLY[@]}"',
    ),
    "zsh": (
        "zsh/site-functions/_pathlab",
        'fpath=("${1:h}" $fpath); autoload -Uz compinit; compinit -D -u; print "$_comps[pathlab]";'
        ' _describe() { print -r -- "${(@P)3}" };'
        ' words=(pathlab mea) CURRENT=2; source "$1"; _pathlab_completion',
    ),
    "fish": (
        "fish/vendor_completions.d/pathlab.fish",
        "source $argv[1]; complete --do-complete 'pathlab mea'",
    ),
}


@pytest.mark.parametrize("shell", sorted(COMPLETING))
def test_completions_complete_a_command(dist: Path, tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    require(program, f"{shell} (apt-get install {shell})")
    run("tar", "-xf", find(dist, "*-completions.tar.gz"), "-C", tmp_path)
    place, script = COMPLETING[shell]
    (tmp_path / "bin").mkdir()
    start = tmp_path / "bin" / "pathlab"
    start.write_text(f'#!/bin/sh\nexec {sys.executable} -m pathlab "$@"\n', encoding="utf-8")
    start.chmod(0o755)
    words = {"fish": ["-c", script], "bash": ["-c", script, "sh"], "zsh": ["-f", "-c", script, "sh"]}[shell]
    environment = {**ENVIRONMENT, "PATH": f"{start.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    done = subprocess.run(
        [str(program), *words, str(tmp_path / place)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "measure" in done.stdout


def test_the_image_runs_as_an_ordinary_user(dist: Path, tmp_path: Path) -> None:
    require(can_build_image(), "root, and what builds the image (apt-get install mmdebstrap buildah)")
    archive = find(dist, "*-oci-*.tar")
    container = run_buildah(tmp_path, "from", write_policy(tmp_path), f"oci-archive:{archive}")
    settings = json.loads(run_buildah(tmp_path, "inspect", container))["OCIv1"]["config"]
    assert settings["Entrypoint"] == ["pathlab"]
    assert settings["Labels"]["org.opencontainers.image.version"] == __version__
    files = "id -u >uid && pathlab --version >version && pathlab " + " ".join(MEASURE) + " >record"
    run_buildah(tmp_path, "run", "--isolation=chroot", container, "--", "sh", "-c", files)
    results = Path(run_buildah(tmp_path, "mount", container)) / "results"
    assert (results / "uid").read_text() == "1000\n"
    assert (results / "version").read_text() == f"pathlab {__version__}\n"
    assert_complete((results / "record").read_text())


@pytest.mark.long
def test_a_commit_gives_the_same_bytes_twice(dist: Path, tmp_path: Path, released_checkout: Path) -> None:
    done = release(released_checkout, tmp_path / "again", "--no-image")
    assert (done.status, done.errors) == (0, [])
    again = set((tmp_path / "again" / "SHA256SUMS").read_text().splitlines())
    first = {line for line in (dist / "SHA256SUMS").read_text().splitlines() if "-oci-" not in line}
    assert again == first


MEASURE_BRIEFLY = (
    "-m",
    "pathlab",
    "measure",
    "local",
    "--time=300ms",
    "--warmup=100ms",
    "--unloaded=0",
    "--json",
)
# Mounts the folder $1 read-only, and runs the rest of the arguments.
READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 99
touch "$1/file" 2>/dev/null && exit 98
shift
exec "$@"
"""


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with the wheel, without what it needs."""
    packages = tmp_path_factory.mktemp("installed") / "packages"
    words = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target")
    run(sys.executable, *words, packages, find(dist, "*.whl"))
    return packages


@pytest.fixture
def packages(installed: Path, tmp_path: Path) -> Path:
    """A copy of them for a test that changes it."""
    return shutil.copytree(installed, tmp_path / "packages")


def run_installed(
    packages: Path, *words: str, prefix: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """This Python with the installed wheel, in a folder that is not the checkout."""
    variables = {name: value for name, value in os.environ.items() if name != "PATHLAB_ENGINE"}
    home = packages.parent / "home"
    home.mkdir(exist_ok=True)
    variables |= {"PYTHONPATH": str(packages), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    return subprocess.run(
        [*prefix, sys.executable, *words],
        cwd=home,
        env={**variables, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def assert_refused(done: subprocess.CompletedProcess[str], *texts: str) -> None:
    """Exit status 3, one line with the texts, and one with the fix."""
    assert done.returncode == 3, done.stderr
    line, fix = done.stderr.splitlines()
    for text in texts:
        assert text in line
    assert fix.startswith("  fix: ")
    assert "make engine" not in fix


@pytest.mark.netns
def test_it_measures_from_packages_that_are_read_only(installed: Path) -> None:
    require_namespaces()
    user = () if os.getuid() == 0 else ("--map-root-user",)
    prefix = ("unshare", *user, "--mount", "sh", "-c", READ_ONLY, "sh", str(installed))
    done = run_installed(installed, *MEASURE_BRIEFLY, prefix=prefix)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trial"]["status"] == "complete"


def test_it_has_an_engine_for_hosts_of_every_machine(installed: Path) -> None:
    program = (
        "from pathlab.remote.engine import *\n"
        f"for machine in {list(MACHINES)}: print(find_engine_of_machine(machine))\n"
        "print(find_engine())\n"
    )
    done = run_installed(installed, "-c", program)
    native = installed / "pathlab" / "_native"
    machines = [*MACHINES, find_own_machine()]
    assert done.stdout.splitlines() == [str(native / f"pathlab-engine-{machine}") for machine in machines]


def test_its_command_for_the_engine_is_the_packed_engine(installed: Path) -> None:
    done = run_installed(installed, str(installed / "bin" / "pathlab-engine"), "--version")
    assert done.stdout.startswith("pathlab-engine "), done.stderr


def test_an_engine_that_was_tampered_with_is_one_line(packages: Path) -> None:
    engine = packages / "pathlab" / "_native" / f"pathlab-engine-{find_own_machine()}"
    data = bytearray(engine.read_bytes())
    data[-1] ^= 1
    engine.write_bytes(data)
    assert_refused(run_installed(packages, *MEASURE_BRIEFLY), f"{engine} was changed", "SHA-256")


def leave_out_own_engine(packages: Path) -> None:
    manifest = packages / "pathlab" / "_native" / "engines.json"
    digests = json.loads(manifest.read_text())
    del digests[find_own_machine()]
    manifest.write_text(json.dumps(digests))


def test_a_machine_without_an_engine_and_a_compiler_is_one_line(packages: Path, tmp_path: Path) -> None:
    leave_out_own_engine(packages)
    machines = ", ".join(sorted(set(MACHINES) - {find_own_machine()}))
    done = run_installed(packages, *MEASURE_BRIEFLY, PATH=str(tmp_path))
    assert_refused(done, f"no engine for {find_own_machine()} (only for {machines})", "no C compiler")


@pytest.mark.long
def test_a_machine_without_an_engine_builds_its_own(packages: Path, tmp_path: Path) -> None:
    leave_out_own_engine(packages)
    done = run_installed(packages, *MEASURE_BRIEFLY)
    assert done.returncode == 0, done.stderr
    (built,) = (tmp_path / "home" / "cache" / "pathlab").glob("pathlab-engine-*")
    assert built.stat().st_mode & 0o777 == 0o700
