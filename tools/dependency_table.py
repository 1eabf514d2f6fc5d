"""Writes the table of PathLab's dependencies into docs/decisions: purpose, size, import time, wheels.

Run it where the extra ``dev`` is installed: ``python -m tools.dependency_table``. Sizes and times are of
this machine; pip is asked which wheels of the locked versions other machines would get, and installs nothing.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from release.lock_files import read_pins

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "decisions" / "2026-11-22-dependencies.md"
BEGIN, END = "<!-- begin: python -m tools.dependency_table -->", "<!-- end -->"
PYTHON = "3.11"
REPEATS = 5
GLIBC = (
    "manylinux2014",
    "manylinux_2_17",
    "manylinux_2_24",
    "manylinux_2_26",
    "manylinux_2_27",
    "manylinux_2_28",
)
MUSL = ("musllinux_1_1", "musllinux_1_2")
#: Machines that pip is asked for, as the platform tags that fit them.
TARGETS: Mapping[str, tuple[str, ...]] = {
    "Linux x86_64": tuple(f"{libc}_x86_64" for libc in GLIBC),
    "Linux aarch64": tuple(f"{libc}_aarch64" for libc in GLIBC),
    "musl x86_64": tuple(f"{libc}_x86_64" for libc in MUSL),
    "musl aarch64": tuple(f"{libc}_aarch64" for libc in MUSL),
    "macOS arm64": ("macosx_14_0_arm64",),
}
#: Packages without a wheel for a machine, which pip builds there.
WITHOUT_WHEEL: Mapping[str, frozenset[str]] = {"musl aarch64": frozenset({"matplotlib", "statsmodels"})}
#: What each dependency is for, and the module whose import is timed.
PURPOSES: Mapping[str, tuple[str, str]] = {
    "click": ("click", "command line"),
    "jinja2": ("jinja2", "HTML of the report, whose templates escape foreign text"),
    "matplotlib": ("matplotlib.figure", "figures as SVG, PNG and PDF"),
    "numpy": ("numpy", "arrays of every analysis"),
    "pandas": ("pandas", "data frames of the Python API, tables of the analyses"),
    "paramiko": ("paramiko", "SSH"),
    "pyarrow": ("pyarrow.parquet", "series as Parquet, exports"),
    "pydantic": ("pydantic", "checks of campaign and host files, their JSON schema"),
    "rich": ("rich.console", "tables and live view in the terminal"),
    "scapy": ("scapy.layers.inet", "packets of captures; no command loads it yet"),
    "scipy": ("scipy.stats", "distributions, tests, optimisation"),
    "sqlalchemy": ("sqlalchemy", "results file"),
    "starlette": ("starlette.applications", "HTTP of `pathlab serve`: routes, headers, streams"),
    "statsmodels": (
        "statsmodels.regression.linear_model",
        "regressions with robust covariance (HC2, HC3), Poisson regression: scipy has neither",
    ),
    "uvicorn": ("uvicorn", "HTTP server of `pathlab serve`"),
    "weasyprint": ("weasyprint", "PDF; extra `pdf`"),
}


def list_requirements(extras: Sequence[str] = ()) -> list[str]:
    """What ``setup.py`` requires, with these extras."""
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    lists = {
        target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    required = next(node for node in ast.walk(tree) if getattr(node, "arg", None) == "install_requires")
    assert isinstance(required, ast.keyword)
    base: list[str] = ast.literal_eval(required.value)
    return base + [line for extra in extras for line in lists[extra.upper()]]


def resolve_wheels(requirements: Sequence[str], target: str) -> dict[str, str]:
    """The wheel of the locked version of each package, by name; CalledProcessError if there is none."""
    with tempfile.TemporaryDirectory() as scratch:
        report, versions = Path(scratch) / "report.json", Path(scratch) / "versions.txt"
        pins = read_pins("dev", PYTHON)
        versions.write_text("".join(f"{name}=={pin.version}\n" for name, pin in pins.items()), "utf-8")
        words = ["--dry-run", "--quiet", "--ignore-installed", "--only-binary", ":all:", "--target", scratch]
        words += ["--constraint", str(versions)]
        words += ["--python-version", PYTHON, "--implementation", "cp", "--report", str(report)]
        words += [word for platform in TARGETS[target] for word in ("--platform", platform)]
        command = [sys.executable, "-m", "pip", "install", *words, *requirements]
        subprocess.run(command, check=True, capture_output=True, text=True)
        chosen = json.loads(report.read_text(encoding="utf-8"))["install"]
    wheels = [item["download_info"]["url"].rpartition("/")[2] for item in chosen]
    return {wheel.partition("-")[0].lower().replace("_", "-"): wheel for wheel in wheels}


def list_closure(names: Sequence[str]) -> set[str]:
    """These installed packages and all that they require."""
    result: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in result:
            continue
        result.add(name)
        for line in importlib.metadata.requires(name) or ():
            required = Requirement(line)
            if required.marker is None or required.marker.evaluate({"extra": ""}):
                waiting.append(required.name)
    return result


def measure_size(name: str) -> int:
    """Bytes of an installed package's files, compiled ones included."""
    files = importlib.metadata.files(name) or ()
    paths = [Path(str(file.locate())) for file in files]
    return sum(path.stat().st_size for path in paths if path.is_file())


def time_import(module: str) -> float:
    """Least seconds of some imports, each in a new interpreter."""
    script = f"import time; begin = time.perf_counter(); import {module}; print(time.perf_counter() - begin)"
    runs = [
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
        for _ in range(REPEATS)
    ]
    return min(float(run.stdout) for run in runs)


def _format_size(size: float) -> str:
    return f"{size / 1e6:.1f} MB"


def _list_lines() -> Iterator[str]:
    wheels = {}
    for target in TARGETS:
        known = WITHOUT_WHEEL.get(target, frozenset())
        wanted = [line for line in list_requirements(["pdf"]) if Requirement(line).name not in known]
        wheels[target] = resolve_wheels(wanted, target)
    yield "| package | purpose | size | import | " + " | ".join(TARGETS) + " |"
    yield "|---|---|---|---|" + "---|" * len(TARGETS)
    for name, (module, purpose) in PURPOSES.items():
        wheel_cells = [_name_wheel(wheels[target].get(name)) for target in TARGETS]
        size, seconds = _format_size(measure_size(name)), f"{time_import(module):.2f} s"
        yield f"| {name} | {purpose} | {size} | {seconds} | {' | '.join(wheel_cells)} |"
    direct = [Requirement(line).name for line in list_requirements()]
    base, printed = list_closure(direct), list_closure([*direct, "weasyprint"])
    others = base - set(PURPOSES)
    sizes = [_format_size(sum(map(measure_size, names))) for names in (others, base, printed)]
    yield ""
    yield (
        f"They bring {len(others)} more packages of {sizes[0]}. "
        f"All together: {sizes[1]}, with the extra `pdf` {sizes[2]}."
    )


def _name_wheel(wheel: str | None) -> str:
    """The platform of a wheel in a word."""
    if wheel is None:
        return "none"
    tag = wheel.removesuffix(".whl").rpartition("-")[2]
    return "any" if tag == "any" else "abi3" if "-abi3-" in wheel else "own"


if __name__ == "__main__":
    table = "\n".join(_list_lines())
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{table}\n\n{END}", text, flags=re.DOTALL),
        encoding="utf-8",
    )
