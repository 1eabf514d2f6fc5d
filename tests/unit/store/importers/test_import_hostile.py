"""Half-written and hostile files: one clear line that names the file, never a traceback, nothing stored."""

import copy
import gzip
import json
import random
from pathlib import Path

import pytest

from pathlab.errors import PathlabError, StoreError
from pathlab.store.importing import read_file
from pathlab.store.json_fields import MAXIMUM_BYTES, load_document, parse_json
from tests.builders.foreign_files import TEXTS, change, make_pscheduler_rtt
from tests.builders.spoiling import MISSING, list_spoilings, set_value
from tests.length import LENGTH

#: Files of each kind of damage; at full length 2,000 of each importer.
FILES = 1000 if LENGTH == "full" else 100


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
    """Values swapped for others of every kind, and bytes, at places drawn: refused in our words, or read."""
    source = random.Random(name)
    odd = ["null", "-1", "1e400", "NaN", '""', '"x"', "[]", "{}", "true", "[[]]", "9007199254740993", "0"]
    text = TEXTS[name]
    starts = [at + 1 for at, character in enumerate(text) if character in ":,[" and text[at - 1] != "\\"]
    path = tmp_path / "given.json"
    refused = 0
    for _ in range(FILES):
        at = source.choice(starts)
        end = min((p for p in (text.find(c, at) for c in ",}]") if p >= 0), default=len(text))
        path.write_text(text[:at] + source.choice(odd) + text[end:], encoding="utf-8")
        refused += not is_read(path)
    assert 0 < refused < FILES
    for _ in range(FILES):
        data = bytearray(text.encode())
        if source.random() < 0.5:
            for _ in range(source.randint(1, 8)):
                data[source.randrange(len(data))] = source.randrange(256)
        else:
            at = source.randrange(len(data))
            data[at : at + source.randrange(300)] = data[: source.randrange(300)]
        path.write_bytes(data)
        is_read(path)


@pytest.mark.parametrize("name", TEXTS)
def test_no_missing_key_gives_a_traceback(tmp_path: Path, name: str) -> None:
    """Each key and item left out, and values replaced by hostile ones, at places drawn."""
    values = parse_json(TEXTS[name], name).values
    forms = [(number, *form) for number, (value, _) in enumerate(values) for form in list_spoilings(value)]
    others = random.Random(name).sample(forms, min(FILES, len(forms)))
    for number, place, new in [*(one for one in forms if one[2] is MISSING), *others]:
        spoiled = copy.deepcopy([value for value, _ in values])
        set_value(spoiled[number], place, new)
        path = tmp_path / "given.json"
        path.write_text("\n".join(map(json.dumps, spoiled)), encoding="utf-8")
        is_read(path)


@pytest.mark.parametrize("piece", ["{},", "[],", '{"a":0},', '"a",', "0.5,"])
def test_values_that_memory_does_not_hold_are_not_parsed(tmp_path: Path, piece: str) -> None:
    """A hundred kilobytes of gzip may unpack to tens of millions of values."""
    path = tmp_path / "given.json.gz"
    path.write_bytes(gzip.compress(f'{{"x":[{piece * (MAXIMUM_BYTES // len(piece) - 10)}0]}}'.encode(), 1))
    with pytest.raises(StoreError, match="holds more values than fit the memory"):
        load_document(path)


@pytest.mark.parametrize("length", ["PT0.04.S", "PT.S", "P9S", "PT", "PT1e5S"])
def test_what_is_no_duration_is_named(tmp_path: Path, length: str) -> None:
    node = change(make_pscheduler_rtt(), "result.roundtrips.0.rtt", length)
    path = tmp_path / "given.json"
    path.write_text(json.dumps(node), encoding="utf-8")
    assert is_read(path) is (length == "P9S")
