"""What comes of the captures of a trial's two ends."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from pathlab.runner.trial import trial_captures
from pathlab.runner.trial.trial_captures import NO_PACKETS, CapturePlan, TrialCaptures


class RecordedEnd:
    """A capture that has ended; ``packets`` by host."""

    packets: ClassVar[dict[str, int]] = {}

    def __init__(self, session: Any, _options: Any, *, seconds: float) -> None:
        self.host, self.seconds = session.host, seconds

    def stop(self) -> None:
        """It has."""

    def wait_for_result(self) -> dict[str, Any]:
        packets = self.packets[self.host]
        return {"captured_packets": packets, "dropped_packets": 0, "complete": True, "reason": None}

    def read(self) -> Iterator[bytes]:
        yield b"file"

    def close(self) -> None:
        """Nothing is left."""


def test_an_end_that_saw_no_packet_of_the_flow_is_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_captures, "RemoteCapture", RecordedEnd)
    monkeypatch.setattr(RecordedEnd, "packets", {"a": 9, "b": 0})
    path = SimpleNamespace(
        connect_from="sender", source_address="10.0.0.1", destination_address="198.51.100.1"
    )
    spec: Any = SimpleNamespace(
        cell=SimpleNamespace(engine="native", transport="tcp"),
        path=path,
        trial=SimpleNamespace(capture="headers", capture_limit_bytes=1 << 20),
    )
    sessions: list[Any] = [SimpleNamespace(host=host) for host in ("a", "b")]
    captures = TrialCaptures(spec, CapturePlan(folder=tmp_path), *sessions)
    captures.start(5201, 10.0)
    ends = captures.fetch()
    assert [(end.missing, end.is_incomplete) for end in ends.values()] == [(None, False), (NO_PACKETS, True)]
    for end in ends.values():
        end.drop()
