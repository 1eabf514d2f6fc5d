"""Files of captures on this host: without a name, so that nothing of them can outlive agent and engine.

The engine writes through a descriptor that it inherits. The controller reads the file in pieces once the
trial is over, and says when it has all of it.
"""

from __future__ import annotations

import base64
import os
import tempfile
from typing import Any, Dict

from pathlab.agents.limits import CAPTURE_PIECE_BYTES, MAX_CAPTURE_BYTES, MAX_CAPTURES
from pathlab.agents.protocol import Message, RequestError

#: Flags of ``pathlab-engine capture`` that the agent alone gives.
_OWN_FLAGS = frozenset({"file", "descriptor"})
#: Memory is the last choice for a file that may be large.
_FOLDERS = ("/var/tmp",)


def open_capture_file() -> int:
    """A descriptor of an empty file in a folder for temporary files. OSError: there is none.

    The kernel frees it with the last descriptor.
    """
    reason = OSError("no folder for temporary files")
    for folder in (*_FOLDERS, tempfile.gettempdir()):
        try:
            with tempfile.TemporaryFile(dir=folder, prefix="pathlab-capture-") as file:
                return os.dup(file.fileno())
        except OSError as error:
            reason = error
    raise reason


class Captures:
    """The files of this session's captures, by the number of their job."""

    def __init__(self) -> None:
        self._files: Dict[int, int] = {}

    def open(self) -> int:
        """A new file for a capture; RequestError where this host has no room for it."""
        if len(self._files) >= MAX_CAPTURES:
            raise RequestError("capture", f"{MAX_CAPTURES} captures are kept already, the most at a time")
        try:
            return open_capture_file()
        except OSError as error:
            raise RequestError("capture", f"no file for a capture: {error.strerror or error}") from error

    def keep(self, job: int, descriptor: int) -> None:
        """Keep the file of a job that was started, until ``close``."""
        self._files[job] = descriptor

    def read(self, request: Message) -> Dict[str, Any]:
        """The bytes of a file from ``offset`` on, at most a piece, and the size of the file now."""
        descriptor, offset = self._find(request), request["offset"]
        if offset < 0:
            raise RequestError("capture", "field 'offset' must not be negative")
        try:
            data = os.pread(descriptor, CAPTURE_PIECE_BYTES, offset)
            size = os.fstat(descriptor).st_size
        except (OSError, OverflowError) as error:
            raise RequestError("capture", f"a capture cannot be read: {error}") from error
        return {"size_bytes": size, "base64": base64.b64encode(data).decode("ascii")}

    def close(self, request: Message) -> Dict[str, Any]:
        """Forget a file; a second time nothing happens."""
        descriptor = self._files.pop(request["job"], None)
        if descriptor is not None:
            os.close(descriptor)
        return {}

    def close_all(self) -> None:
        """Forget them all."""
        while self._files:
            os.close(self._files.popitem()[1])

    def _find(self, request: Message) -> int:
        descriptor = self._files.get(request["job"])
        if descriptor is None:
            raise RequestError("capture", f"job {request['job']} has no capture here")
        return descriptor


def check_options(options: Message) -> None:
    """ValueError for flags of a capture that a controller may not give, or a file beyond the limit."""
    foreign = sorted(_OWN_FLAGS & set(options))
    if foreign:
        raise ValueError(f"option '{foreign[0]}' of a capture is the agent's own")
    limit = options.get("limit-bytes")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 < limit <= MAX_CAPTURE_BYTES:
        raise ValueError(f"option 'limit-bytes' must be an integer of at most {MAX_CAPTURE_BYTES}")
