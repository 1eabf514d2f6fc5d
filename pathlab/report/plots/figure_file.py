"""The file of a single figure: the endings of its name, and the error for one that cannot be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pathlab.errors import UsageError

FORMATS = (".svg", ".pdf", ".png")


def check_figure_file(file: Path, option: str, endings: Sequence[str] = FORMATS) -> None:
    """Raise UsageError for another ending or a missing folder, before anything is measured or drawn."""
    if file.suffix.lower() not in endings:
        raise UsageError(
            f"{option}: '{file}' does not end in {', '.join(endings)}", hint="name a file such as figure.svg"
        )
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{option}: there is no folder '{file.parent}'", hint="name a folder that exists")


@contextmanager
def refuse_unwritable(file: Path) -> Iterator[None]:
    """Turn the error of a file that cannot be written into a UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"'{file}' cannot be written: {error.strerror or error}", hint="name a file that may be written"
        ) from error
