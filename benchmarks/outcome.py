"""Shared by all benchmarks: progress lines, stored figures, and exit statuses."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pathlab.errors import HostError

Main = Callable[[Sequence[str]], int]


def echo(text: str = "") -> None:
    """Print one line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextlib.contextmanager
def keep_json(stored: dict[str, Any], file: Path | None) -> Iterator[None]:
    """Write the stored figures to the file, if one is named, however the block ends."""
    try:
        yield
    finally:
        if file is not None:
            file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def translate_faults(main: Main) -> Main:
    """Exit status 3 and one line where this machine cannot run it, 130 when somebody interrupts it."""

    @functools.wraps(main)
    def run(arguments: Sequence[str]) -> int:
        try:
            return main(arguments)
        except HostError as error:
            sys.stderr.write(f"benchmarks: {error}\n" + (f"  fix: {error.hint}\n" if error.hint else ""))
            return 3
        except KeyboardInterrupt:
            return 130

    return run
