"""``pathlab serve`` as a process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.integration.running import heed_signals
from tests.serving import Answer, ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A process that serves, the first URL and the notes that it printed, its key file."""

    process: subprocess.Popen[str]
    url: str
    notes: str
    key_file: Path

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    def request(self, path: str, header: str | None = None) -> Answer:
        return ask(self.port, path, headers={} if header is None else dict([header.split(": ", 1)]))


@contextlib.contextmanager
def run_server(*arguments: str, cwd: Path, program: tuple[str, ...] = ("-m", "pathlab")) -> Iterator[Serving]:
    process = subprocess.Popen(
        [sys.executable, *program, "serve", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(cwd)},
        preexec_fn=heed_signals,  # noqa: PLW1509 -- one thread starts processes here
    )
    try:
        url = process.stdout.readline().strip()
        notes = ""
        while "curl" not in notes:
            notes += process.stderr.readline()
        key_file = notes.split("@")[1].split(" ")[0]
        yield Serving(process=process, url=url, notes=notes, key_file=Path(key_file))
    finally:
        process.kill()
        process.communicate()
