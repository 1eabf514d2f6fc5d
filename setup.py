"""Metadata and the folder-to-package map; building anything also builds the native engine.

The map below is the truth for builds: three top-level folders are sub-packages of ``pathlab``. The
committed links ``pathlab/agents``, ``pathlab/analysis`` and ``pathlab/campaigns`` show the same shape
to tools that read the checkout as it is.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

# setuptools brings distutils, on Python 3.12 and later too, and has to be imported before it.
from distutils.command.install_data import install_data  # isort: skip

ROOT = Path(__file__).resolve().parent
LINKED = {"pathlab.agents": "agents", "pathlab.analysis": "analysis", "pathlab.campaigns": "campaigns"}
NATIVE = Path("pathlab", "_native")
MANUAL = Path("build", "man")
DOCS = ["furo>=2025.12", "myst-parser>=5", "sphinx>=9"]
PDF = ["weasyprint>=68.0"]
MACHINES_VARIABLE = "PATHLAB_WHEEL_MACHINES"  # engines of other machines to pack, such as "aarch64 riscv64"


def mapped_packages() -> list[str]:
    """Every package of the distribution, each file counted once (links excluded)."""
    names = ["pathlab"]
    names += [f"pathlab.{name}" for name in find_packages("pathlab", exclude=["agents*", "analysis*"])]
    for package, folder in LINKED.items():
        names.append(package)
        names += [f"{package}.{name}" for name in find_packages(folder)]
    return sorted(names)


def version() -> str:
    text = (ROOT / "pathlab" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'^VERSION = "([^"]+)"', text, re.MULTILINE)
    if not found:
        raise SystemExit("pathlab/_version.py has no VERSION")
    return found.group(1)


def own_machine() -> str:
    """As ``pathlab/remote/machines.py`` names it; an engine in a wheel carries its machine in its name."""
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())


def build_engine() -> Path:
    """Build the static engine with the machine's own compiler; one clear line when it cannot be."""
    for tool in ("make", "cc"):
        if shutil.which(tool) is None:
            raise SystemExit(
                f"PathLab needs '{tool}' to build its engine and finds none. "
                "Next: install a C compiler and make (Debian: apt-get install build-essential)."
            )
    result = subprocess.run(["make", "-s", "-C", str(ROOT / "native"), "engine"], check=False)
    if result.returncode:
        raise SystemExit(
            "The native engine did not build; the compiler's own words stand above. "
            "Next: install the C library's headers (Debian: apt-get install libc6-dev) and build again."
        )
    return ROOT / "native" / "build" / "pathlab-engine"


def build_engines_of(machines: list[str]) -> list[Path]:
    """Cross-build static engines for other machines; one clear line when they cannot be."""
    folder = ROOT / "native" / "build" / "cross"
    engines = [folder / f"pathlab-engine-{machine}" for machine in machines]
    targets = [str(engine.relative_to(ROOT / "native")) for engine in engines]
    if not targets:
        return []
    zig = f"ZIG={sys.executable} -m ziglang"
    command = ["make", "-s", "-C", str(ROOT / "native"), zig, *targets]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(
            f"The engines that {MACHINES_VARIABLE} names did not build; the reason stands above. "
            "Next: pip install ziglang, or unset it."
        )
    return engines


class BuildWithEngine(build_py):
    """build_py that also builds and packs the engine; an editable install uses the one in native/build.

    A wheel also carries the engine's sources, for hosts that build their own, and the engines of the machines
    that PATHLAB_WHEEL_MACHINES names.
    """

    def run(self) -> None:
        super().run()
        engine = build_engine()
        if self.editable_mode:
            return
        others = build_engines_of(os.environ.get(MACHINES_VARIABLE, "").split())
        for source, target in zip([engine, *others, *self._sources()], self._packed(), strict=True):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)

    def _sources(self) -> list[Path]:
        return sorted((ROOT / "native" / "src").rglob("*.[ch]"))

    def _packed(self) -> list[str]:
        folder = Path(self.build_lib) / NATIVE
        machines = os.environ.get(MACHINES_VARIABLE, "").split()
        engines = [f"pathlab-engine-{machine}" for machine in [own_machine(), *machines]]
        names = [*engines, *(str(path.relative_to(ROOT / "native")) for path in self._sources())]
        return [str(folder / name) for name in names]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *([] if self.editable_mode else self._packed())]


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
    name="pathlab",
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
        "pathlab.campaigns": ["*.toml", "*.md", "*.json", "labs/*.toml"],
        "pathlab.reference": ["*.csv", "README.md"],
        "pathlab.report": ["templates/*", "plotly/*"],
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
        "statsmodels>=0.14.6",
    ],
    extras_require={
        "dev": [
            "codespell>=2.3",
            "hdrhistogram>=0.10.3",
            "hypothesis>=6.110",
            "import-linter>=2.3",
            "iperf3>=0.1.11",
            "mypy>=1.14",
            "pandas-stubs",
            "pre-commit>=4",
            "prometheus_client>=0.21",
            "pytest>=8",
            "pytest-cov>=5",
            "pytest-xdist>=3.6",
            "ruff>=0.9",
            "setuptools>=77",
            "vermin>=1.6",
            "wheel",
            "ziglang==0.17.1",
            *DOCS,
            *PDF,
        ],
        "docs": DOCS,
        "pdf": PDF,
    },
    entry_points={"console_scripts": ["pathlab=pathlab.cli.main:main"]},
    cmdclass={"build_py": BuildWithEngine, "install_data": InstallWithManual},
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Environment :: Console",
        "Intended Audience :: Science/Research",
        "Intended Audience :: System Administrators",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: C",
        "Programming Language :: Python :: 3.11",
        "Topic :: System :: Networking :: Monitoring",
    ],
)
