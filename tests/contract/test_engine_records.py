"""native/records.toml is the one table of the engine's records: what follows from it is current."""

from __future__ import annotations

import pytest

from tools.engine_records import make_files, parse_field


def test_what_is_generated_from_the_table_is_current() -> None:
    for path, text in make_files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is old: run make pages"


@pytest.mark.parametrize("text", ["", "Count]", "{Count", "Count[x]", "Count Count}"])
def test_another_notation_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_field(text)
