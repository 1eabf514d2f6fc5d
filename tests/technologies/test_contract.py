"""What every technology that ships must do, whatever it is: the contract of agents/adapters/CONTRACT.md."""

import base64
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pathlab.agents.adapters.manifest import Manifest, read_manifests
from pathlab.agents.listeners import list_descendants
from pathlab.remote.jobs import EngineJob
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from pathlab.store.hdr_histogram import Histogram
from tests.integration.processes import assert_all_end, watching
from tests.patience import PATIENCE_S
from tests.require import require_engine
from tests.technologies.builds import require_needs

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = read_manifests([ROOT / "agents" / "adapters"])
#: The smallest, one segment (of tests/lab), and the largest, which needs several and all buffers.
SIZES = (4, 1400, 65_536)
REQUESTS = 100
MS = 1_000_000


@pytest.fixture(scope="module")
def agent() -> Iterator[Session]:
    with Session(LocalTransport(engine=Path(require_engine())), host="local") as opened:
        yield opened


def run_trial(session: Session, manifest: Manifest, message_bytes: int) -> tuple[EngineJob, EngineJob]:
    """Both ends of a trial of some requests; both have ended well."""
    settings = {"address": "127.0.0.1", "bytes": message_bytes, "interval_ns": 100 * MS}
    settings |= {"warmup_ns": 0, "requests": REQUESTS, "stall_ns": 30_000 * MS}
    server = session.start_adapter(manifest.name, "answer", settings, seconds=120)
    port = server.wait_for("listening", PATIENCE_S)["port"]
    client = session.start_adapter(manifest.name, "ask", {**settings, "port": port}, seconds=120)
    client.wait_for("ready", PATIENCE_S)
    for job in (server, client):
        job.command("go")
    end = client.wait(PATIENCE_S)
    assert end.status == 0, end.describe()
    server.command("stop")
    end = server.wait(PATIENCE_S)
    assert (end.status, end.records[-1]["complete"]) == (0, True), end.describe()
    return server, client


def read_versions(jobs: tuple[EngineJob, EngineJob]) -> list[str]:
    server, client = (job.records for job in jobs)
    stated = [record["versions"] for record in server if record["type"] == "listening"]
    stated += [record["adapter"]["versions"] for record in client if record["type"] == "ready"]
    return [text for text in stated if text]


def assert_sends_at_once(manifest: Manifest, jobs: tuple[EngineJob, EngineJob]) -> None:
    """Nagle's algorithm is off at each end that states so: over TCP the asking one of our harness must."""
    server, client = jobs
    answering_end = server.wait_for("listening", 0)["settings"] or {}  # none of a third-party program
    asking_end = client.wait_for("ready", 0)["adapter"]["settings"] or {}
    assert answering_end.get("no_delay", True) is True, answering_end
    if manifest.protocol == "tcp" and manifest.language != "pipe":
        assert asking_end["no_delay"] is True, asking_end


def assert_leftovers_end(before: set[int]) -> None:
    """A process may end a moment after the records of its end, but none may stay."""
    with contextlib.ExitStack() as stack:
        for pid in set(list_descendants(os.getpid())) - before:
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                assert_all_end(stack.enter_context(watching(pid)))


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_technology_returns_every_message_and_leaves_nothing(agent: Session, name: str) -> None:
    """At ``ready`` the harness has compared a whole reply with its request, later size and number of each."""
    manifest = MANIFESTS[name]
    require_needs(manifest)
    before = set(list_descendants(os.getpid()))
    for message_bytes in (SIZES[0], SIZES[-1]):
        server, client = run_trial(agent, manifest, message_bytes)
        result = client.records[-1]
        messages, steady = result["messages"], result["phases"]["steady"]
        assert (result["complete"], messages["missing"], messages["out_of_order"]) == (True, [0], [0])
        assert messages["sent"] == messages["received"] == steady["messages"] == [REQUESTS]
        assert steady["user_ns"] + steady["system_ns"] > 0
        found = Histogram.decode(base64.b64decode(messages["round_trip_ns"]["hdr"]))
        assert found.count == messages["round_trip_ns"]["count"] == REQUESTS
        assert any(character.isdigit() for text in read_versions((server, client)) for character in text)
        assert client.wait_for("hello", 0)["language"] == manifest.language
        assert_sends_at_once(manifest, (server, client))
    assert_leftovers_end(before)


def test_every_language_has_a_technology_of_the_standard_library_alone() -> None:
    """What a library costs beside its language needs one that has the language alone."""
    baselines = {manifest.baseline for manifest in MANIFESTS.values()} - {None}
    assert baselines <= {*MANIFESTS, "tcp", "udp", "native"}
    for name in ("tcp-python", "tcp-java", "tcp-pipe"):
        assert MANIFESTS[name].baseline is None
