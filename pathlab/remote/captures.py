"""A capture on a host: started, stopped, and read to its end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from pathlab.errors import HostError, PathlabError, Stage
from pathlab.remote.exchange import Record
from pathlab.remote.jobs import EngineJob
from pathlab.remote.record_schema import PIECE_MAX_BYTES
from pathlab.remote.session import Session

FEATURE = "captures"
#: Stage of the engine's error where a host may not record packets.
PRIVILEGE = "privilege"
START_TIMEOUT_S = 10.0
#: From the command to the result: the ring is read within 50 ms, and at the end for a second at most.
STOP_TIMEOUT_S = 10.0


class RemoteCapture:
    """A running ``pathlab-engine capture``; ``host`` is where. Packets are recorded once this is made.

    HostError where the host cannot record, with the engine's own words.
    """

    def __init__(self, session: Session, options: Mapping[str, str | int], *, seconds: float) -> None:
        self.host = session.host
        self._session = session
        self._limit_bytes = int(options["limit-bytes"])
        if FEATURE not in session.hello.get("features", ()):
            raise HostError("its agent cannot record packets", host=self.host, stage=Stage.AGENT)
        self.job: EngineJob = session.start_capture(options, seconds=seconds)
        try:
            self.ready = self.job.wait_for("ready", START_TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    def stop(self) -> None:
        """Let no more packets in. One that has ended, or whose host is gone, is no error."""
        with contextlib.suppress(PathlabError):
            if not self.job.ended:
                self.job.command("stop")

    def wait_for_result(self) -> Record:
        """What it states at its end. HostError where it states nothing."""
        return self.job.wait_for("result", STOP_TIMEOUT_S)

    def read(self) -> Iterator[bytes]:
        """The file in pieces, after its result; each is requested when the one before was taken.

        No more bytes are taken than its result states, and no more than were allowed. HostError where the
        host states more, sends other bytes than it stated, or makes pieces smaller than they can be.
        """
        stated_bytes = int(self.wait_for_result()["file_bytes"])
        if stated_bytes > self._limit_bytes:
            raise self._fail(f"has {stated_bytes} bytes; {self._limit_bytes} were allowed")
        offset = 0
        while offset < stated_bytes:
            piece, size_bytes = self._session.read_capture(self.job, offset)
            if size_bytes != stated_bytes:
                raise self._fail(f"has {size_bytes} bytes where its result states {stated_bytes}")
            wanted = min(PIECE_MAX_BYTES, stated_bytes - offset)
            if len(piece) != wanted:
                raise self._fail(f"sent {len(piece)} bytes from byte {offset} on, not {wanted}")
            yield piece
            offset += len(piece)

    def close(self) -> None:
        """End it where it still runs, and have its file removed. Never raises."""
        with contextlib.suppress(PathlabError):
            self.job.kill()
        with contextlib.suppress(PathlabError):
            self._session.close_capture(self.job)

    def _fail(self, text: str) -> HostError:
        return HostError(f"capture: {text}", host=self.host, stage=Stage.AGENT)
