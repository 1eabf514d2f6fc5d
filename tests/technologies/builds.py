"""Builds of adapters in C and C++ as their manifests say, each made once."""

import functools
import subprocess
from itertools import chain
from pathlib import Path

from pathlab.agents.adapters.manifest import Manifest, read_manifests
from pathlab.agents.adapters.needs import fill_placeholders, find_missing
from tests.built import build_once
from tests.require import require

ROOT = Path(__file__).resolve().parents[2]
HARNESS = ROOT / "native" / "build" / "harness" / "libpathlab-adapter.a"


def list_compiled() -> list[Manifest]:
    """The technologies that ship and are written in C or C++, one for each file."""
    manifests = read_manifests([ROOT / "agents" / "adapters"]).values()
    return [found for found in manifests if found.language in ("c", "c++") and found.variant is None]


def require_needs(manifest: Manifest) -> None:
    """Skip or fail where this machine lacks something that ``manifest`` needs."""
    missing = find_missing(manifest)
    by_pip = {need["what"]: f"pip install {need['pip']}" for need in missing if need["debian"] is None}
    hows = [by_pip.get(need["what"], f"apt-get install {need['debian']}") for need in missing]
    require(
        not missing, ", ".join(f"{need['what']} ({how})" for need, how in zip(missing, hows, strict=True))
    )


@functools.cache
def build_adapter(name: str) -> Path:
    """The program of technology ``name`` with the harness; skips or fails where something is missing."""
    (manifest,) = [found for found in list_compiled() if found.name == name]
    require_needs(manifest)
    require(HARNESS.is_file(), f"the harness at {HARNESS} (make -C native harness)")
    harness = ["-I", str(ROOT / "native" / "src"), str(HARNESS), "-pthread", "-lm"]

    def build(folder: Path) -> None:
        for words in fill_build(manifest, folder, harness):
            subprocess.run(words, check=True)

    texts = [manifest.source, repr(manifest.build), *chain.from_iterable(manifest.files.items())]
    return build_once(f"technology-{name}", [*texts, HARNESS.read_bytes()], build) / "program"


def fill_build(manifest: Manifest, folder: Path, harness: list[str]) -> list[list[str]]:
    """The commands of a build of ``folder/program``; source and further files are written to the folder."""
    source = folder / Path(manifest.file).name
    for name, text in {source.name: manifest.source, **manifest.files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    values = {"source": str(source), "program": str(folder / "program"), "folder": str(folder)}
    return [
        list(
            chain.from_iterable(
                harness if word == "{harness}" else [fill_placeholders(word, values)] for word in words
            )
        )
        for words in manifest.build
    ]
