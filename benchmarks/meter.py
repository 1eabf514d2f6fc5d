"""Run a command and write what it cost, as the kernel counts it: ``python meter.py FILE COMMAND ...``.

FILE gets one JSON object: ``cpu_s`` (user and system time of the command and of what it waited for),
``peak_rss_bytes`` and ``peak_rss_is_bound``: the kernel counts the peak from before the command was loaded,
so a command smaller than this process (about 10 MB) shows this one's size, an upper bound. SIGTERM kills
the command, SIGINT is passed on to it. The exit status is the command's.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Run ``arguments[1:]``, write its cost to the file ``arguments[0]``; returns its exit status."""
    child = subprocess.Popen(arguments[1:])
    signal.signal(signal.SIGTERM, lambda *_: child.kill())
    signal.signal(signal.SIGINT, lambda *_: child.send_signal(signal.SIGINT))
    _, status, usage = os.wait4(child.pid, 0)
    own_rss_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cost = {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_rss_bytes": usage.ru_maxrss * 1024,
        "peak_rss_is_bound": usage.ru_maxrss <= own_rss_kib,
    }
    Path(arguments[0]).write_text(json.dumps(cost), encoding="ascii")
    # Not the interpreter's exit code alone: a killed command has the exit status that a shell gives it.
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
