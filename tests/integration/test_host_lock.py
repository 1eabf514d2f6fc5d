"""Runs of several controllers and users on one host: the agents keep them apart."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.campaign.load import build_campaign
from pathlab.campaign.model import Campaign
from pathlab.errors import HostError, Stage
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from pathlab.runner.events import Event, RunNotice
from pathlab.runner.hosts.environment import Environment
from pathlab.runner.hosts.run_lock import RunOwner, lock_host, name_run

FIRST = RunOwner(run="1", campaign="sweep", user="ann", controller="desk")
SECOND = dataclasses.replace(FIRST, run="2", campaign="other", user="bob", controller="rack")
BUSY = r"^host 'far', lock: is busy with campaign 'sweep' of user ann from desk since 20\d\d-\S+Z$"


@pytest.fixture(autouse=True)
def lock_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATHLAB_LOCK_FOLDER", str(tmp_path))
    return tmp_path


@contextlib.contextmanager
def reach(engine: Path, agent: Path, host: str = "far") -> Iterator[Session]:
    with Session(LocalTransport(engine=engine, agent=agent, host=host), host=host) as session:
        yield session


def campaign_between(source: str, destination: str) -> Campaign:
    data = {
        "format": 1,
        "name": "later",
        "title": "Later",
        "seed": 1,
        "hosts": {name: {"transport": "local"} for name in (source, destination)},
        "paths": [{"source": source, "destination": destination}],
        "factors": {"streams": [1]},
    }
    return build_campaign(data, label="later")


def test_the_agent_holds_its_host_for_one_run(fake_engine: Path, agent_zip: Path) -> None:
    with reach(fake_engine, agent_zip) as mine, reach(fake_engine, agent_zip) as theirs:
        assert lock_host(mine, FIRST) is None
        assert lock_host(mine, FIRST) is None  # requested again
        with pytest.raises(HostError, match=BUSY) as caught:
            lock_host(theirs, SECOND)
        assert caught.value.hint is not None
        with reach(fake_engine, agent_zip, "near") as same_host:
            assert lock_host(same_host, FIRST) is None
        mine.close()
        assert lock_host(theirs, SECOND) is None


def test_without_a_lock_the_run_goes_on_with_a_warning(
    fake_engine: Path, agent_zip: Path, lock_folder: Path
) -> None:
    lock_folder.chmod(0o755)
    number = Path("/proc/self/ns/net").stat().st_ino
    (lock_folder / f"pathlab-host-{number}.lock").symlink_to("/etc/passwd")
    with reach(fake_engine, agent_zip) as session:
        reason = lock_host(session, FIRST)
    assert str(reason).startswith("far: ")
    assert "symbolic link" in str(reason)


def test_a_campaign_is_refused_where_another_run_has_the_host(
    fake_engine: Path, agent_zip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATHLAB_ENGINE", str(fake_engine))
    campaign = campaign_between("near", "far")
    heard: list[Event] = []
    with reach(fake_engine, agent_zip) as mine:
        assert lock_host(mine, FIRST) is None
        with pytest.raises(HostError, match="is busy with campaign 'sweep' of user ann from desk"):
            Environment(campaign, heard.append, owner=name_run("later")).__enter__()
    with Environment(campaign, heard.append, owner=name_run("later")) as environment:
        assert {environment.session(name).host for name in ("near", "far")} == {"near", "far"}
    assert [event.text for event in heard if isinstance(event, RunNotice) and "no lock" in event.text] == []


def test_every_run_locks_its_hosts_in_one_order_and_stops_at_one_in_use(
    fake_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs that start at the same time would otherwise each get one host, and both be refused."""
    monkeypatch.setenv("PATHLAB_ENGINE", str(fake_engine))
    order: list[str] = []

    def lock(session: Session, _owner: RunOwner) -> None:
        order.append(session.host)
        if len(order) == 3:
            raise HostError("is busy", host=session.host, stage=Stage.LOCK)

    monkeypatch.setattr("pathlab.runner.hosts.environment.lock_host", lock)
    with Environment(campaign_between("near", "far"), lambda _event: None, owner=FIRST):
        assert order == ["far", "near"]
    with pytest.raises(HostError, match="host 'far'"):
        Environment(campaign_between("near", "far"), lambda _event: None, owner=SECOND).__enter__()
    assert order == ["far", "near", "far"]
