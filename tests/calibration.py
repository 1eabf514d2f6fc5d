"""One true calibration of this machine per test process, which all campaigns of the process share."""

from __future__ import annotations

import copy
import threading
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
