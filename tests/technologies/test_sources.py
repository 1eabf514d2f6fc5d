"""Adapters in C and C++ compile without warnings, where the libraries that they use are installed."""

import subprocess
from pathlib import Path

import pytest

from pathlab.agents.adapters.manifest import Manifest
from tests.technologies.builds import ROOT, fill_build, list_compiled, require_needs

COMPILED = list_compiled()
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsyntax-only"]


def test_the_adapters_were_found() -> None:
    assert {"corba", "grpc", "http1", "http2", "zeromq"} <= {found.name for found in COMPILED}


@pytest.mark.parametrize("manifest", COMPILED, ids=lambda found: found.name)
def test_an_adapter_compiles_without_warnings(manifest: Manifest, tmp_path: Path) -> None:
    require_needs(manifest)
    for words in fill_build(manifest, tmp_path, harness=["-I", str(ROOT / "native" / "src")]):
        extra = WARNINGS if words[0] in ("cc", "c++") else []
        run = subprocess.run([*words, *extra], capture_output=True, text=True, check=False)
        assert (run.returncode, run.stderr) == (0, "")
