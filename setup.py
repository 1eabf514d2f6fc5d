"""Metadata and the folder-to-package map; building anything also builds the native engine.

The map below is the truth for builds: three top-level folders are sub-packages of ``pathlab``. The
committed links ``pathlab/agents``, ``pathlab/analysis`` and ``pathlab/campaigns`` show the same shape
to tools that read the checkout as it is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
LINKED = {"pathlab.agents": "agents", "pathlab.analysis": "analysis", "pathlab.campaigns": "campaigns"}
ENGINE = Path("pathlab", "_native", "pathlab-engine")


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


class BuildWithEngine(build_py):
    """build_py that also builds and packs the engine; an editable install uses the one in native/build."""

    def run(self) -> None:
        super().run()
        engine = build_engine()
        if not self.editable_mode:
            target = Path(self.build_lib) / ENGINE
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(engine, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        own = [] if self.editable_mode else [str(Path(self.build_lib) / ENGINE)]
        return [*super().get_outputs(include_bytecode), *own]


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
        "pathlab.report": ["templates/*"],
    },
    install_requires=[
        "click>=8.2",
        "iperf3>=0.1.11",
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
            "hypothesis>=6.110",
            "import-linter>=2.3",
            "mypy>=1.14",
            "pandas-stubs",
            "pre-commit>=4",
            "pytest>=8",
            "pytest-cov>=5",
            "ruff>=0.9",
            "setuptools>=77",
            "wheel",
        ],
    },
    entry_points={"console_scripts": ["pathlab=pathlab.cli.main:main"]},
    cmdclass={"build_py": BuildWithEngine},
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
