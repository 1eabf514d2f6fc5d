"""Headers, options and flows of captures."""

from __future__ import annotations

from pathlib import Path

import pytest

from pathlab.captures.capture import read_capture
from pathlab.errors import UsageError
from tests.builders.packets import (
    write_pcap,
)
from tests.golden.conftest import Say


def test_an_unknown_link_type_is_an_error_that_names_it(say: Say, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", [(5, b"x" * 60)], link=147)
    with pytest.raises(UsageError) as caught:
        read_capture(path)
    say(caught.value)
