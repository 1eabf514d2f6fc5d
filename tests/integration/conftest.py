"""A misbehaving engine, the agent's zip, and a session with a true agent that runs that engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.remote.deploy import build_agent_zip
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session


@pytest.fixture(scope="module")
def fake_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engine") / "fake engine"  # a blank: no shell may come near it
    source = Path(__file__).with_name("fake_engine.py").read_text(encoding="utf-8")
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
