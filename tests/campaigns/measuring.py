"""``pathlab measure`` over this machine's loopback, in this process."""

import pytest

from tests.command_line import Said, call

SHORT = ("-t", "300ms", "--warmup", "100ms")


def measure(capsys: pytest.CaptureFixture[str], *options: str) -> Said:
    return call(["measure", "local", "--unloaded", "5", *options], capsys)
