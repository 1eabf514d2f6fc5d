"""Half-written and hostile files: one clear line that names the file, never a traceback, nothing stored."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pathlab.errors import PathlabError
from pathlab.store.importing import read_file
from tests.builders.foreign_files import (
    TEXTS,
)


def is_read(path: Path) -> bool:
    """Whether a file is read; when it is refused, its name is said."""
    try:
        read_file(path)
    except PathlabError as error:
        if path.name not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize("name", TEXTS)
def test_no_damage_gives_a_traceback(tmp_path: Path, name: str) -> None:
    """Values swapped for others of every kind, at 100 places drawn: refused in house words, or read."""
    source = random.Random(name)
    odd = ["null", "-1", "1e400", "NaN", '""', '"x"', "[]", "{}", "true", "[[]]", "9007199254740993", "0"]
    text = TEXTS[name]
    starts = [at + 1 for at, character in enumerate(text) if character in ":,[" and text[at - 1] != "\\"]
    path = tmp_path / "given.json"
    refused = 0
    for _ in range(100):
        at = source.choice(starts)
        end = min((p for p in (text.find(c, at) for c in ",}]") if p >= 0), default=len(text))
        path.write_text(text[:at] + source.choice(odd) + text[end:], encoding="utf-8")
        refused += not is_read(path)
    assert 0 < refused < 100
