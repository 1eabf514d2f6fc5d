"""Builds of adapters in C and C++ as their manifests say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from agents.adapters.manifest import Manifest, read_manifests
from tests.require import require

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "agents" / "adapters"
HARNESS = ROOT / "native" / "build" / "harness" / "libpathlab-adapter.a"


def list_compiled() -> list[Manifest]:
    """The technologies that ship and are written in C or C++, one for each file."""
    manifests = read_manifests([ADAPTERS]).values()
    return [found for found in manifests if found.language in ("c", "c++") and found.variant is None]


def require_needs(manifest: Manifest) -> None:
    """Skip or fail where a program or header of ``manifest`` that the compiler needs is missing."""
    for need in manifest.needs:
        if "header" in need:
            compiler = "c++" if manifest.language == "c++" else "cc"
            words = [compiler, "-E", "-include", need["header"], "-x", manifest.language, "/dev/null"]
            there = shutil.which(compiler) is not None and run_quietly(words) == 0
        elif need.get("program") in ("cc", "c++", "omniidl"):
            there = shutil.which(need["program"]) is not None
        else:
            continue
        require(there, f"{need.get('header') or need.get('program')} (apt-get install {need['debian']})")


def run_quietly(words: list[str]) -> int:
    return subprocess.run(words, capture_output=True, check=False).returncode


def fill_build(manifest: Manifest, folder: Path, harness: list[str]) -> list[list[str]]:
    """The commands of a build of ``folder/program``; source and further files are written to the folder."""
    source = folder / Path(manifest.file).name
    for name, text in {source.name: manifest.source, **manifest.files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    values = {"source": str(source), "program": str(folder / "program"), "folder": str(folder)}
    return [
        [
            filled
            for word in words
            for filled in (
                harness
                if word == "{harness}"
                else [re.sub(r"\{(\w+)\}", lambda found: values[found[1]], word)]
            )
        ]
        for words in manifest.build
    ]
