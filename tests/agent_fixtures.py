"""Fixtures of several folders: a misbehaving engine, the agent's zip, and sessions with a true agent.

One of the sessions has a stub technology. ``tests/conftest.py`` loads this file as a plugin.
"""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.remote.deploy import build_agent_zip
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from tests.integration.adapter_jobs import SEGMENT_BYTES, describe_host
from tests.patience import PATIENCE_S

INTEGRATION = Path(__file__).with_name("integration")


@pytest.fixture(scope="session")
def fake_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("engine") / "fake engine"  # a blank: no shell may come near it
    source = (INTEGRATION / "fake_engine.py").read_text(encoding="utf-8")
    path.write_text(f"#!{sys.executable} -I\n{source}", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def agent_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agent") / "agent.zip"
    path.write_bytes(build_agent_zip())
    return path


@pytest.fixture(scope="session")
def _agent(fake_engine: Path, agent_zip: Path) -> Iterator[Session]:
    with Session(LocalTransport(engine=fake_engine, agent=agent_zip), host="local") as opened:
        yield opened


@pytest.fixture
def session(_agent: Session) -> Iterator[Session]:
    """One agent for all tests that leave it alive; their engines end with the test."""
    yield _agent
    _end_jobs(_agent)


@pytest.fixture(scope="session")
def _user(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a user with the stub, and with a cache of these tests alone."""
    base = tmp_path_factory.mktemp("user")
    (base / "adapters").mkdir()
    shutil.copy(INTEGRATION / "stub_adapter.py", base / "adapters" / "stub.py")
    return {
        "PATHLAB_ADAPTERS": str(base / "adapters"),
        "XDG_CACHE_HOME": str(base / "cache"),
        "STUB_SEGMENT_BYTES": str(SEGMENT_BYTES),
    }


@pytest.fixture(scope="session")
def cache(_user: dict[str, str]) -> Path:
    return Path(_user["XDG_CACHE_HOME"], "pathlab")


@pytest.fixture(scope="session")
def stub_zip(_user: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent's zip with the technologies of that user."""
    path = tmp_path_factory.mktemp("agent") / "agent.zip"
    with _set_variables(_user):
        path.write_bytes(build_agent_zip())
    return path


@pytest.fixture(scope="session")
def _stub_agent(fake_engine: Path, stub_zip: Path, _user: dict[str, str]) -> Iterator[Session]:
    session = Session(LocalTransport(engine=fake_engine, agent=stub_zip), host="local")
    with _set_variables(_user):
        session.open()
    yield session
    session.close()


@pytest.fixture
def tidy(cache: Path, stub_zip: Path, _user: dict[str, str]) -> Iterator[None]:
    """The host is afterwards as before."""
    (cache / "adapter-folder").mkdir(parents=True, exist_ok=True)
    cache.chmod(0o700)
    before = describe_host(cache, stub_zip)
    with _set_variables(_user):
        yield
    assert describe_host(cache, stub_zip) == before


@pytest.fixture
def host(tidy: None, _stub_agent: Session) -> Iterator[Session]:
    """One agent for all that leave it alive."""
    yield _stub_agent
    assert _stub_agent.death() is None


@pytest.fixture
def doomed(tidy: None, fake_engine: Path, stub_zip: Path) -> Iterator[Session]:
    with Session(LocalTransport(engine=fake_engine, agent=stub_zip), host="local") as opened:
        yield opened


@contextlib.contextmanager
def _set_variables(variables: dict[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


def _end_jobs(session: Session) -> None:
    """End what a test left running; the agent must live."""
    assert session.death() is None
    for job in list(session._jobs.values()):
        if not job.ended:
            job.kill()
            job.wait(PATIENCE_S)
