"""Which rows a campaign leaves out since a host lacks their technology. The lines: tests/golden/runner."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.errors import HostError, Stage
from pathlab.remote.session import Session
from pathlab.runner.hosts import technology_check
from pathlab.runner.hosts.technology_check import check_host_technologies, find_left_out
from tests.builders.campaigns import make_cell, make_sample

PATH = make_sample(hosts={"far": {"transport": "local"}}, paths=[{"source": "local", "destination": "far"}])
NEEDS = {
    "crow": {"what": "crow.h", "debian": "libcrow-dev", "pip": None},
    "parrot": {"what": "parrot", "debian": None, "pip": "parrot"},
}


@dataclass
class CheckedHost:
    """A host that lacks some technologies; ``sandbox``: it permits user namespaces."""

    host: str
    lacks: tuple[str, ...] = ()
    sandbox: bool = True
    asked: tuple[str, ...] = ()

    def check_adapters(self, names: list[str]) -> dict[str, Any]:
        self.asked = (*self.asked, *names)
        if "silence" in self.lacks:
            raise HostError("does not answer", host=self.host, stage=Stage.CONNECT)
        stated = {"sandbox": self.sandbox, "versions": None}
        return {name: {"missing": [NEEDS[name]] if name in self.lacks else [], **stated} for name in names}


NEAR, FAR_LACKS_ALL = CheckedHost("local"), CheckedHost("far", lacks=("crow", "parrot"))


@pytest.fixture
def birds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two technologies that there are."""
    monkeypatch.setattr(technology_check, "list_technologies", lambda: dict.fromkeys(NEEDS))


pytestmark = pytest.mark.usefixtures("birds")


def make_rows(*engines: str, **levels: Any) -> list[PlanRow]:
    cell = make_cell(message_bytes=64, reply=True, **levels)
    return [
        PlanRow(row=number, cycle=0, path=PATH.paths[0], cell=replace(cell, engine=engine))
        for number, engine in enumerate(engines)
    ]


def open_session(host: CheckedHost) -> Session:
    return cast("Session", host)


def find_sessions(*hosts: CheckedHost) -> Callable[[str], Session]:
    return lambda name: open_session(next(host for host in hosts if host.host == name))


def choose(on_missing: str = "skip") -> Campaign:
    return make_sample(on_missing=on_missing)


def test_one_host_needs_what_runs_there() -> None:
    near, far = CheckedHost("local"), CheckedHost("far", lacks=("crow",))
    rows = make_rows("native", "crow", placement="process")
    assert find_left_out(choose(), rows, find_sessions(near, far)).rows == frozenset()
    assert far.asked == ()
    assert find_left_out(choose(), make_rows("native"), find_sessions()).rows == frozenset()


def test_a_host_that_does_not_answer_leaves_nothing_out() -> None:
    sessions = find_sessions(NEAR, CheckedHost("far", lacks=("silence",)))
    assert find_left_out(choose(), make_rows("crow"), sessions).rows == frozenset()


def test_the_line_of_doctor_never_fails() -> None:
    assert [check_host_technologies(open_session(host)).state for host in (NEAR, FAR_LACKS_ALL)] == [
        *("ok", "optional")
    ]
    fixes = [
        check_host_technologies(open_session(replace(FAR_LACKS_ALL, host=host))).fix
        for host in ("local", "far")
    ]
    assert fixes == [f"pathlab technologies{name} lists their packages" for name in ("", " far")]
