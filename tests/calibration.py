"""What campaigns of a test process share: one true calibration, and a brief look at what else runs here."""

import copy
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pathlab.remote.session import Session


@pytest.fixture(scope="session")
def calibrated_once() -> Iterator[None]:
    """Calibrate once for each congestion control and numbers of streams: it takes two seconds."""
    from pathlab.runner.hosts.calibration import calibrate as measure

    known: dict[tuple[str | None, tuple[int, ...]], dict[str, Any]] = {}
    lock = threading.Lock()

    def calibrate(session: Session, congestion: str | None, counts: Sequence[int]) -> dict[str, Any]:
        with lock:
            key = (congestion, tuple(counts))
            if key not in known:
                known[key] = measure(session, congestion, counts)
            return copy.deepcopy(known[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pathlab.runner.hosts.environment.calibrate", calibrate)
        yield


@pytest.fixture
def brief_glance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its first trial a run looks for a second whether hosts are busy: with tests they are."""
    from pathlab.runner.hosts.host_activity import measure_activity

    monkeypatch.setattr(
        "pathlab.runner.campaign.idle_wait.measure_activity",
        lambda hosts, _pause: measure_activity(hosts, lambda _seconds: time.sleep(0.02)),
    )
