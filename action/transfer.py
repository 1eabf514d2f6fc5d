"""usage: transfer.py FILE BYTES SOURCE DESTINATION COMMAND

Runs COMMAND, a line of shell that carries BYTES from SOURCE to DESTINATION, and writes how long it took to
FILE, for `pathlab import`. The exit status is the command's. Any python3 runs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path


def main(file: str, size: str, source: str, destination: str, command: str) -> int:
    """Run and time the command; its exit status as a shell counts it."""
    started_utc = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    begin_ns = time.monotonic_ns()
    status = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, check=False).returncode
    length_ns = time.monotonic_ns() - begin_ns
    status = status if status >= 0 else 128 - status
    record = {
        "pathlab_transfer": 1,
        "started_utc": started_utc,
        "source": source,
        "destination": destination,
        "command": command,
        "exit_status": status,
        "bytes": int(size),
        "seconds": length_ns / 1e9,
    }
    Path(file).write_text(json.dumps(record) + "\n", encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
