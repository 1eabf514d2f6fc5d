"""What tests build once, and share between tests, processes and runs."""

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

BUILT = Path(__file__).resolve().parents[1] / "build" / "tests"


def build_once(name: str, inputs: Iterable[str | bytes], build: Callable[[Path], None]) -> Path:
    """The folder that ``build`` fills; built anew, in place of the earlier one, when ``inputs`` change."""
    digest = hashlib.sha256()
    for given in inputs:
        content = given.encode() if isinstance(given, str) else given
        digest.update(f"{len(content)} ".encode() + content)
    kept = BUILT / name
    folder = kept / digest.hexdigest()[:16]
    kept.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:  # several processes may run tests
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            for old in kept.iterdir():
                shutil.rmtree(old)
            with tempfile.TemporaryDirectory(dir=kept, prefix=".") as work:
                new = Path(work, "new")
                new.mkdir()
                build(new)
                new.rename(folder)
    return folder
