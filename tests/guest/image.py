"""A guest that boots Debian's kernel from an initial file system made of this machine's own programs.

The kernel is unpacked, not installed, by ``tests/guest/kernel.sh``. What the guest needs is busybox,
iproute2, unshare, the system's Python with its library, the engine and PathLab itself, whose lab needs no
further library.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pathlab
from tests.require import require, require_engine

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "build" / "guest"
MODULES = ("sch_netem", "sch_fq", "veth", "bridge", "bonding", "sctp", "tun")
PYTHON = Path("/usr/bin/python3")
PROGRAMS = ("/bin/ip", "/sbin/tc", "/usr/bin/unshare", str(PYTHON))
TASKS = [*Path(__file__).parent.glob("*task*.py")]
#: Of Python's library: what a lab cannot need.
LEFT_OUT = ("test", "idlelib", "tkinter", "lib2to3", "ensurepip", "turtledemo", "pydoc_data", "dist-packages")

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/usr/bin:/sbin:/bin PYTHONPATH=/pathlab PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
for module in {modules}; do modprobe $module || echo "no module $module"; done
ip link set lo up
python3 -m tests.guest.tasks </dev/null >/dev/ttyS1 2>/dev/ttyS0
poweroff -f
"""


def require_guest() -> None:
    """Skip or fail where QEMU, the kernel or a program of the guest is missing."""
    require(shutil.which("qemu-system-x86_64"), "qemu-system-x86_64 (Debian: qemu-system-x86)")
    require(Path("/bin/busybox").exists(), "/bin/busybox (Debian: busybox-static)")
    require(shutil.which("cpio"), "cpio")
    require((KERNEL / "vmlinuz").is_file(), f"a kernel in {KERNEL} (sh tests/guest/kernel.sh)")
    for program in PROGRAMS:
        require(Path(program).exists(), program)
    require_engine()


def build_image(folder: Path) -> Path:
    """An initial file system (cpio) whose init runs ``tests/guest/tasks.py``."""
    root = folder / "root"
    for name in ("bin", "sbin", "usr/bin", "proc", "sys", "dev", "tmp", "run", "pathlab", "lib/modules"):
        (root / name).mkdir(parents=True, exist_ok=True)
    _copy(Path("/bin/busybox"), root / "bin/busybox")
    for program in PROGRAMS:
        _copy(Path(program), root / program.lstrip("/"))
        for library in _libraries(program):
            _copy(library, root / str(library).lstrip("/"))
    _copy_python(root)
    _copy_modules(root)
    package = root / "pathlab" / "pathlab"
    source = Path(pathlab.__file__).parent
    package.mkdir()
    for name in ("__init__.py", "_version.py", "described_text.py", "errors.py"):
        shutil.copy(source / name, package)
    shutil.copytree(source / "lab", package / "lab", ignore=shutil.ignore_patterns("__pycache__"))
    tasks = root / "pathlab" / "tests" / "guest"
    tasks.mkdir(parents=True)
    for task in TASKS:
        shutil.copy(task, tasks)
    _compile_imports(root)
    _copy(Path(require_engine()), root / "bin" / "pathlab-engine")
    init = root / "init"
    init.write_text(INIT.format(modules=" ".join(MODULES)))
    init.chmod(0o755)
    image = folder / "initrd"
    with image.open("wb") as output:
        names = subprocess.run(["find", ".", "-print0"], cwd=root, capture_output=True, check=True).stdout
        command = ["cpio", "--null", "--create", "--format=newc", "--quiet"]
        subprocess.run(command, cwd=root, input=names, stdout=output, check=True)
    return image


def run_guest(image: Path) -> tuple[str, str]:
    """Boot, wait for the power to go off, and return what the task wrote on stdout, and the console."""
    answer, console = image.with_name("answer"), image.with_name("console")
    command = [
        *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "768"),
        *("-kernel", str(KERNEL / "vmlinuz"), "-initrd", str(image)),
        *("-append", "console=ttyS0 quiet panic=-1", "-no-reboot", "-display", "none", "-nic", "none"),
        *("-serial", f"file:{console}", "-serial", f"file:{answer}"),
    ]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return answer.read_text(errors="replace"), console.read_text(errors="replace")


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy(source, target)


def _libraries(program: str) -> list[Path]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(", listed, re.MULTILINE)]


def _copy_python(root: Path) -> None:
    """The system's own Python, whatever runs this test: it needs nothing but the C library."""
    found = subprocess.run(
        [str(PYTHON), "-Ic", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    library = Path(found.stdout.strip())
    ignore = shutil.ignore_patterns("__pycache__", "config-*", *LEFT_OUT)
    shutil.copytree(library, root / str(library).lstrip("/"), ignore=ignore, dirs_exist_ok=True)
    for extension in (library / "lib-dynload").glob("_ctypes.*.so"):
        for needed in _libraries(str(extension)):
            _copy(needed, root / str(needed).lstrip("/"))


def _compile_imports(root: Path) -> None:
    """Compile what the tasks import, which the emulated processor would take long for."""
    listing = (
        "import sys, tests.guest.tasks; "
        "print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(root / "pathlab"), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [str(PYTHON), "-X", "frozen_modules=off", "-s", "-c", listing]
    listed = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    copies = []
    for name in listed.split():
        path = Path(name)
        copy = path if path.is_relative_to(root) else root / name.lstrip("/")
        if copy.suffix == ".py" and copy.is_file():
            copies.append(str(copy))
    subprocess.run([str(PYTHON), "-m", "py_compile", *copies], check=True)


def _copy_modules(root: Path) -> None:
    """The modules that the lab needs, those that they need, and the list that modprobe reads."""
    (release,) = (path for path in (KERNEL / "modules").iterdir() if path.is_dir())
    needs: dict[str, list[str]] = {}
    for line in (release / "modules.dep").read_text().splitlines():
        module, _, others = line.partition(":")
        needs[module] = others.split()
    chosen = [path for path in needs if re.sub(r"\.ko.*", "", os.path.basename(path)) in MODULES]  # noqa: PTH119
    for path in {*chosen, *(other for module in chosen for other in needs[module])}:
        _copy(release / path, root / "lib/modules" / release.name / path)
    for name in ("modules.dep", "modules.builtin", "modules.order"):
        _copy(release / name, root / "lib/modules" / release.name / name)
