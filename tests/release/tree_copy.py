"""A copy of the product's sources that a test changes and runs, to count the files that a change takes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: The folders that make up the product's Python; inside ``pathlab`` three of them are links.
FOLDERS = ("pathlab", "agents", "analysis", "campaigns")
RUN_SECONDS = 600


class TreeCopy:
    """The product's sources in a temporary folder; the checkout itself stays as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in FOLDERS:
            # Compiled sources go along: those of unchanged files stay valid, as copies keep their times.
            skipped = shutil.ignore_patterns("_native")
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=skipped)
        self._before = self._read_files()

    def write(self, path: str, text: str) -> None:
        """Write a new file, or a file anew; ``path`` is relative to the checkout."""
        (self.folder / path).write_text(text, encoding="utf-8")

    def insert(self, path: str, text: str, *, before: str) -> None:
        """Insert ``text`` before the first place of ``before``. Raises ValueError where there is none."""
        content = (self.folder / path).read_text(encoding="utf-8")
        place = content.index(before)
        self.write(path, content[:place] + text + content[place:])

    def run(self, code: str) -> str:
        """Run Python code on the copy in a process of its own and return what it prints.

        Raises AssertionError with the error output where the process fails.
        """
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def changed_files(self) -> list[str]:
        """The files that were added, removed or changed since the copy was made, relative to it, sorted."""
        now = self._read_files()
        return sorted(path for path in self._before.keys() | now if self._before.get(path) != now.get(path))

    def _read_files(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in self._walk()}

    def _walk(self) -> Iterator[Path]:
        for name in FOLDERS:
            for path in (self.folder / name).rglob("*"):  # does not follow the links inside pathlab
                if path.is_file() and path.parent.name != "__pycache__":
                    yield path
