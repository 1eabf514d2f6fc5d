"""Brings another version of plotly.js into pathlab/report/plotly, unmodified, with its licence and digest.

``python docs/plotly_bundle.py VERSION``, with npm, which compares what it fetches with the registry's digest.
The basic bundle is the smallest one; it has the traces ``scatter``, ``bar`` and ``pie``.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE, SCRIPT = "plotly.js-basic-dist-min", "plotly-basic.min.js"
FOLDER = Path(__file__).resolve().parents[1] / "pathlab" / "report" / "plotly"


def bring_bundle(version: str) -> None:
    """Replace the bundle, its licence and what is recorded of both."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["npm", "pack", "--silent", f"{PACKAGE}@{version}"], cwd=scratch, check=True)
        (archive,) = Path(scratch).glob("*.tgz")
        with tarfile.open(archive) as packed:
            for name in (SCRIPT, "LICENSE"):
                member = packed.extractfile(f"package/{name}")
                assert member is not None
                (FOLDER / name).write_bytes(member.read())
    digest = hashlib.sha256((FOLDER / SCRIPT).read_bytes()).hexdigest()
    lines = [f'package = "{PACKAGE}"', f'version = "{version}"', f'file = "{SCRIPT}"', f'sha256 = "{digest}"']
    (FOLDER / "bundle.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    bring_bundle(sys.argv[1])
