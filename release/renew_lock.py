"""``make lock``: renews the lock files with the newest versions that setup.py and pyproject.toml allow.

Runs in an environment that has uv. Each file holds for every Python and machine, by markers.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDER = Path("requirements")
OLDEST_PYTHON = "3.11"
COMMAND = "make lock"
#: Without the user's configuration of uv: no index or folder of this machine decides.
COMPILE = ("pip", "compile", "--quiet", "--no-config", "--upgrade", "--universal", "--generate-hashes")


def renew() -> None:
    """Write all files. CalledProcessError where uv finds no versions that go together."""
    everything = _compile("dev", "setup.py", "--extra", "dev")
    of_it = ("--constraint", str(everything))  # so that a version is the same in all files
    _compile("docs", "setup.py", "--extra", "docs", *of_it)
    _compile("run", "setup.py", *of_it)
    required = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    _compile("build", "-", *of_it, text="\n".join(required["requires"]))


def _compile(name: str, *words: str, text: str = "") -> Path:
    path = FOLDER / f"{name}.txt"
    options = ["--python-version", OLDEST_PYTHON, "--annotation-style", "line", "--output-file", str(path)]
    environment = {**os.environ, "UV_CUSTOM_COMPILE_COMMAND": COMMAND}
    command = [sys.executable, "-m", "uv", *COMPILE, *options, *words]
    subprocess.run(
        command, cwd=CHECKOUT, env=environment, input=text, text=True, check=True, stdout=subprocess.DEVNULL
    )
    print(path, flush=True)
    return path


if __name__ == "__main__":
    try:
        renew()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
