"""Metadata and the folder-to-package map; building anything also builds the native engine.

The map below is the truth for builds: three top-level folders are sub-packages of ``pathlab``. The
committed links ``pathlab/agents``, ``pathlab/analysis`` and ``pathlab/campaigns`` show the same shape
to tools that read the checkout as it is.
"""

from __future__ import annotations

import hashlib
import json
import platform
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

from build_backend import EVERY_MACHINE, ZIG

# setuptools brings distutils, on Python 3.12 and later too, and has to be imported before it.
from distutils.command.install_data import install_data  # isort: skip

ROOT = Path(__file__).resolve().parent
LINKED = {"pathlab.agents": "agents", "pathlab.analysis": "analysis", "pathlab.campaigns": "campaigns"}
NATIVE = Path("pathlab", "_native")
MANUAL = Path("build", "man")
DOCS = ["furo>=2025.12", "myst-parser>=5", "sphinx>=9"]
PDF = ["weasyprint>=68.0"]
TECHNOLOGIES = ["aioquic>=1.2", "cryptography>=42"]


def mapped_packages() -> list[str]:
    """Every package of the distribution, each file counted once (links excluded)."""
    names = ["pathlab"]
    names += [f"pathlab.{name}" for name in find_packages("pathlab", exclude=["agents*", "analysis*"])]
    for package, folder in LINKED.items():
        names.append(package)
        names += [f"{package}.{name}" for name in find_packages(folder)]
    return sorted(names)


def version() -> str:
    return str(runpy.run_path(str(ROOT / "pathlab" / "_version.py"))["VERSION"])


def make_native(*words: str, fix: str) -> str:
    """What make prints in ``native/``; one clear line when it fails."""
    command = ["make", "-s", "-C", str(ROOT / "native"), *words]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"pathlab: the native engine did not build; the reason is above.\n  fix: {fix}")
    return done.stdout


def build_own_engine() -> dict[str, Path]:
    """Build the static engine with the machine's own compiler; one clear line when it cannot be."""
    for tool in ("make", "cc"):
        if shutil.which(tool) is None:
            raise SystemExit(
                f"pathlab: no '{tool}' here to build the engine.\n"
                "  fix: install a C compiler and make (Debian: apt-get install build-essential)"
            )
    make_native("engine", fix="install the C library's headers (Debian: apt-get install libc6-dev)")
    machines = runpy.run_path(str(ROOT / "pathlab" / "remote" / "machines.py"))
    machine = machines["normalize_machine"](platform.machine())
    return {machine: ROOT / "native" / "build" / "pathlab-engine"}


def build_every_engine() -> dict[str, Path]:
    """Build the static engines of all machines with zig; one clear line when they cannot be."""
    fix = f"pip install '{ZIG}'"
    make_native("-j2", f"ZIG={sys.executable} -m ziglang", "engines", fix=fix)
    names = make_native("machines", fix=fix).split()
    return {name: ROOT / "native" / "build" / "machines" / f"pathlab-engine-{name}" for name in names}


class BuildWithEngine(build_py):
    """build_py that also builds and packs the engine; an editable install uses the one in native/build.

    A wheel has the engine of this machine, or those of all machines if PATHLAB_WHEEL_MACHINES is ``all``, the
    manifest with their SHA-256, and the sources, for hosts that build their own.
    """

    def run(self) -> None:
        super().run()
        self.packed: list[str] = []
        if self.editable_mode:
            build_own_engine()
            return
        engines = build_every_engine() if EVERY_MACHINE else build_own_engine()
        for machine, path in engines.items():
            self._pack(f"pathlab-engine-{machine}", path.read_bytes(), 0o755)
        digests = {
            machine: hashlib.sha256(path.read_bytes()).hexdigest() for machine, path in engines.items()
        }
        self._pack("engines.json", (json.dumps(digests, indent=1, sort_keys=True) + "\n").encode())
        for path in sorted((ROOT / "native" / "src").rglob("*.*")):  # sources.txt: those of adapters
            self._pack(str(path.relative_to(ROOT / "native")), path.read_bytes())

    def _pack(self, name: str, data: bytes, mode: int = 0o644) -> None:
        target = Path(self.build_lib) / NATIVE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(mode)
        self.packed.append(str(target))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *self.packed]


class WheelOfItsMachines(bdist_wheel):
    """bdist_wheel for any platform with the engines of all machines, and for this platform with its own."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.plat_name = None if EVERY_MACHINE else sysconfig.get_platform()


def build_manual() -> list[tuple[str, list[str]]]:
    """Make the manual pages of docs/cli and campaigns/SCHEMA.md; where each section's pages are installed."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-t", "man", "-b", "man", "-c", "docs"]
    if subprocess.run(
        [*command, "-d", "build/doctrees-man", ".", str(MANUAL)], check=False, cwd=ROOT
    ).returncode:
        raise SystemExit(
            "Sphinx did not make the manual pages; the reason is above. "
            f"Next: pip install {' '.join(DOCS)} click, and build again."
        )
    sections = {1: "*.1", 5: "*.5"}
    return [
        (f"share/man/man{number}", sorted(str(MANUAL / path.name) for path in (ROOT / MANUAL).glob(pattern)))
        for number, pattern in sections.items()
    ]


class InstallWithManual(install_data):
    """install_data that makes the manual pages first; an editable install has none."""

    def run(self) -> None:
        editable = self.get_finalized_command("build_py").editable_mode
        self.data_files = [] if editable else build_manual()
        super().run()


setup(
    name="pathlab-analyzer",  # "pathlab" is another project on the public index
    version=version(),
    description="Network path throughput analyzer: how many streams, what window, at what cost, what limits",
    long_description=(ROOT / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    packages=mapped_packages(),
    package_dir=LINKED,
    package_data={
        "pathlab": ["py.typed"],
        # Technologies and harnesses that are no Python; they travel to hosts.
        "pathlab.agents.adapters": ["*.c", "*.cc", "*.java", "*.pl", "*.md"],
        "pathlab.agents.adapters.harness": ["*.java"],
        "pathlab.campaigns": ["*.toml", "*.md", "*.json", "labs/*.toml"],
        "pathlab.reference": ["*.csv", "README.md"],
        "pathlab.report": ["templates/*", "plotly/*"],
        "pathlab.web": ["core/*", "page/*", "uplot/*"],
    },
    data_files=[("share/man", [])],  # InstallWithManual puts the real ones in their place
    install_requires=[
        "click>=8.2",
        "jinja2>=3.1",
        "matplotlib>=3.9",
        "numpy>=2",
        "pandas>=2.2",
        "paramiko>=3.5",
        "pyarrow>=17",
        "pydantic>=2.11",
        "rich>=13.9",
        "scapy>=2.6",
        "scipy>=1.14",
        "SQLAlchemy>=2.0.30",
        "starlette>=0.46",
        "statsmodels>=0.14.6",
        "uvicorn>=0.34",
    ],
    extras_require={
        "dev": [
            "axe-playwright-python>=0.1.4",
            "codespell>=2.3",
            "deno>=2.9",
            "hypothesis>=6.110",
            "import-linter>=2.3",
            "iperf3>=0.1.11",
            "mypy>=1.14",
            "pandas-stubs",
            "pip>=24.1",
            "playwright>=1.49",
            "pre-commit>=4",
            "prometheus_client>=0.21",
            "protobuf>=6",
            "pyte>=0.8",
            "pytest>=8",
            "pytest-cov>=5",
            "pytest-timeout>=2.3",
            "pytest-xdist>=3.6",
            "ruff>=0.9",
            "setuptools>=77",
            "vermin>=1.6",
            "wheel",
            ZIG,
            *DOCS,
            *PDF,
            *TECHNOLOGIES,
        ],
        "docs": DOCS,
        "pdf": PDF,
        "technologies": TECHNOLOGIES,
    },
    entry_points={
        "console_scripts": ["pathlab=pathlab.cli.main:main", "pathlab-engine=pathlab.cli.engine:run_engine"]
    },
    cmdclass={
        "bdist_wheel": WheelOfItsMachines,
        "build_py": BuildWithEngine,
        "install_data": InstallWithManual,
    },
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Environment :: Console",
        "Intended Audience :: Science/Research",
        "Intended Audience :: System Administrators",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: C",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: System :: Networking :: Monitoring",
    ],
)
