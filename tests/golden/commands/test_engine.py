"""What the engine prints of arguments that it does not take: one line each, and exit status 2."""

import subprocess

import pytest

from tests.golden.conftest import Say
from tests.require import require_engine

MISTAKES = (
    "",
    "nonsense",
    "--nonsense",
    "send",
    "send --nonsense 1",
    "send --streams",
    "send --streams 0",
    "send --streams many",
    "send --window 1TiB",
    "receive --port 65536",
    "ping",
    "ping nowhere.invalid --count x",
    "echo --port x",
    "emulate --nonsense",
    "capture",
    "ask",
)


@pytest.mark.parametrize("arguments", MISTAKES)
def test_pathlab_engine(say: Say, arguments: str) -> None:
    done = subprocess.run(
        [require_engine(), *arguments.split()], capture_output=True, text=True, timeout=60, check=False
    )
    say(f"exit status {done.returncode}")
    say(done.stderr)
