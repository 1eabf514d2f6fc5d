"""Fixtures of several folders: a misbehaving engine, the agent's zip, and sessions with a true agent.

One of the sessions has a stub technology. ``tests/conftest.py`` loads this file as a plugin.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.remote.deploy import build_agent_zip
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.integration.adapter_jobs import SEGMENT_BYTES, describe_host

INTEGRATION = Path(__file__).with_name("integration")


@pytest.fixture(scope="module")
def fake_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engine") / "fake engine"  # a blank: no shell may come near it
    source = (INTEGRATION / "fake_engine.py").read_text(encoding="utf-8")
    path.write_text(f"#!{sys.executable} -I\n{source}", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def agent_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agent") / "agent.zip"
    path.write_bytes(build_agent_zip())
    return path


@pytest.fixture
def session(fake_engine: Path, agent_zip: Path) -> Iterator[Session]:
    with Session(LocalTransport(engine=fake_engine, agent=agent_zip), host="local") as opened:
        yield opened


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of these tests alone, and a user's folder with the stub."""
    base = tmp_path_factory.mktemp("user")
    (base / "adapters").mkdir()
    shutil.copy(INTEGRATION / "stub_adapter.py", base / "adapters" / "stub.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATHLAB_ADAPTERS", str(base / "adapters"))
        patch.setenv("XDG_CACHE_HOME", str(base / "cache"))
        patch.setenv("STUB_SEGMENT_BYTES", str(SEGMENT_BYTES))
        yield base / "cache" / "pathlab"


@pytest.fixture(scope="module")
def stub_zip(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agent") / "agent.zip"
    path.write_bytes(build_agent_zip())
    return path


@pytest.fixture
def tidy(cache: Path, stub_zip: Path) -> Iterator[None]:
    """The host is afterwards as before."""
    (cache / "adapter-folder").mkdir(parents=True, exist_ok=True)
    cache.chmod(0o700)
    before = describe_host(cache, stub_zip)
    yield
    assert describe_host(cache, stub_zip) == before


@pytest.fixture(scope="module")
def shared(fake_engine: Path, stub_zip: Path) -> Iterator[Session]:
    with Session(LocalTransport(engine=fake_engine, agent=stub_zip), host="local") as opened:
        yield opened


@pytest.fixture
def host(tidy: None, shared: Session) -> Session:
    """One agent for all that leave it alive."""
    return shared


@pytest.fixture
def doomed(tidy: None, fake_engine: Path, stub_zip: Path) -> Iterator[Session]:
    with Session(LocalTransport(engine=fake_engine, agent=stub_zip), host="local") as opened:
        yield opened
