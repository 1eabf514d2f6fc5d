"""The explorer's scripts in an engine of their own: without a browser, in milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scripts.host import ScriptHost


@pytest.fixture(scope="package")
def script_host() -> Iterator[ScriptHost]:
    """One process for the tests of this folder."""
    with ScriptHost() as host:
        yield host


@pytest.fixture
def scripts(script_host: ScriptHost) -> ScriptHost:
    """The scripts as on a page that was just opened."""
    script_host.load()
    return script_host
