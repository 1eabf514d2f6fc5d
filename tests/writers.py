"""A process that has the right to write some results, as a run has it."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path
from pathlab.store.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def hold_results(folder: Path) -> subprocess.Popen[bytes]:
    """Start it; it ends with its standard input, or when it is killed."""
    words = [sys.executable, "-c", PROGRAM, str(folder)]
    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if holder.stdout.readline() != b"locked\n":
        with holder:
            holder.kill()
        raise AssertionError("the results were not locked")
    return holder
