"""The file of a figure or a comparison: the endings of its name, and the error where it cannot be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pathlab.errors import UsageError

FORMATS = (".svg", ".pdf", ".png")


def check_figure_file(file: Path, option: str, endings: Sequence[str] = FORMATS) -> None:
    """Raise UsageError for another ending or a missing folder, before anything is measured or drawn."""
    check_ending(f"{option}: '{file}'", file, endings, hint="name a file such as figure.svg")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{option}: there is no folder '{file.parent}'", hint="name a folder that exists")


def check_comparison_file(file: Path, endings: Sequence[str]) -> None:
    """Raise UsageError for another ending."""
    check_ending(f"'{file}'", file, endings, hint="for JSON: pathlab compare --json")


def check_ending(named: str, file: Path, endings: Sequence[str], *, hint: str) -> None:
    """Raise UsageError for a file whose name does not end in one of ``endings``."""
    if file.suffix.lower() not in endings:
        known = " or ".join((", ".join(endings[:-1]), endings[-1]))
        raise UsageError(f"{named} does not end in {known}", hint=hint)


@contextmanager
def convert_write_errors(file: Path) -> Iterator[None]:
    """Turn the error of a file that cannot be written into a UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"'{file}' cannot be written: {error.strerror or error}", hint="name a file that may be written"
        ) from error
