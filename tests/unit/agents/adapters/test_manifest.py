"""Manifests of technologies. What is refused: tests/golden/agents/test_refusals.py."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab.agents.adapters.manifest import (
    TRANSPORTS,
    Manifest,
    ManifestError,
    list_user_folders,
    read_manifest_file,
    read_manifests,
)
from pathlab.campaign.factor_types import Transport

TABLE: dict[str, Any] = {
    "contract": 1,
    "name": "redis",
    "title": "Redis as the medium",
    "language": "c",
    "beneath": "tcp",
    "build": [["cc", "{source}", "{harness}", "-o", "{program}", "-lhiredis"]],
    "server": ["redis-server", "--port", "{port}", "--dir", "{folder}"],
}


def write_source(changes: dict[str, Any] | None = None, *, drop: str | None = None) -> str:
    table = {key: value for key, value in {**TABLE, **(changes or {})}.items() if key != drop}
    lines = json.dumps(table, indent=1).splitlines()
    return "/* pathlab-adapter\n" + "".join(f" * {line}\n" for line in lines) + " * end */\nint x;\n"


def read(changes: dict[str, Any] | None = None, *, drop: str | None = None) -> list[Manifest]:
    return read_manifest_file("redis.c", write_source(changes, drop=drop))


def test_a_manifest_has_its_keys_and_what_is_left_out() -> None:
    (manifest,) = read()
    assert (manifest.name, manifest.variant, manifest.file) == ("redis", None, "redis.c")
    assert manifest.build == (("cc", "{source}", "{harness}", "-o", "{program}", "-lhiredis"),)
    assert manifest.server == ("redis-server", "--port", "{port}", "--dir", "{folder}")
    assert (manifest.port, manifest.protocol, manifest.responder) == ("given", "tcp", False)
    assert (manifest.baseline, manifest.benchmark, manifest.adds, manifest.client) == (None, None, (), ())
    assert manifest.source == write_source()


@pytest.mark.parametrize(
    ("first", "lead", "last"),
    [
        ("# pathlab-adapter", "# ", "# end"),
        ("// pathlab-adapter", "// ", "// end"),
        ("/* pathlab-adapter", " * ", " * end"),
        ("/* pathlab-adapter", "", "end */"),
        ('"""pathlab-adapter', "", 'end"""'),
        ("#!/usr/bin/perl\n# pathlab-adapter", "#", "#end"),
    ],
)
def test_comments_of_each_language_hold_a_manifest(first: str, lead: str, last: str) -> None:
    body = "".join(f"{lead}{line}\n" for line in json.dumps(TABLE, indent=1).splitlines())
    assert read_manifest_file("a", f"{first}\n{body}{last}\nrest\n") == [
        Manifest(**{**vars(read()[0]), "file": "a", "source": f"{first}\n{body}{last}\nrest\n"})
    ]


def test_no_technology_has_the_name_of_a_transport() -> None:
    assert set(TRANSPORTS) == set(get_args(Transport))


def test_a_variant_is_a_second_technology_from_the_same_file() -> None:
    echo = {"title": "Redis, one command", "benchmark": "redis-benchmark"}
    main, variant = read({"responder": True, "variants": {"redis-echo": {**echo, "responder": False}}})
    assert (main.name, main.variant, main.responder) == ("redis", None, True)
    assert (variant.name, variant.variant, variant.responder) == ("redis-echo", "redis-echo", False)
    assert (variant.title, variant.benchmark) == ("Redis, one command", "redis-benchmark")
    assert variant.build == main.build


def assert_read_or_refused(text: str) -> None:
    """Any other exception fails the test."""
    try:
        fault = None if read_manifest_file("a.c", text) else "nothing"
    except ManifestError as error:
        fault = str(error)
    assert fault is None or fault.startswith("a.c: ")


@given(st.text(max_size=200))
def test_any_text_is_a_manifest_or_refused(text: str) -> None:
    assert_read_or_refused(f"// pathlab-adapter\n{text}\n// end\n")


@given(
    st.dictionaries(
        st.sampled_from(sorted({*TABLE, "needs", "variants", "files", "client"})),
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.lists(st.text() | st.lists(st.text()), max_size=3),
    )
)
def test_any_value_of_a_key_is_taken_or_refused(changes: dict[str, Any]) -> None:
    assert_read_or_refused(write_source(changes))


def test_folders_hold_technologies_by_name(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
    (first / "redis.c").write_text(write_source())
    (first / "notes.md").write_text(write_source())
    (first / "helper.c").write_text("int x;\n")
    (first / "data").write_bytes(b"\xff\xfe")
    (first / "folder.c").mkdir()
    (second / "two.c").write_text(write_source({"name": "a-first"}))
    assert list(read_manifests([first, second, tmp_path / "absent"])) == ["a-first", "redis"]
    (second / "again.c").write_text(write_source())
    with pytest.raises(ManifestError, match=r"again\.c: the name 'redis' is taken by .*/a/redis\.c"):
        read_manifests([first, second])
    faults: list[str] = []
    assert list(read_manifests([first, second], faults)) == ["a-first", "redis"]
    assert len(faults) == 1


def test_of_a_file_that_is_too_large_the_start_alone_is_read(tmp_path: Path) -> None:
    (tmp_path / "large.c").write_text(write_source())
    os.truncate(tmp_path / "large.c", 1 << 40)
    with pytest.raises(ManifestError, match=r"large\.c: an adapter's file has at most 262144 bytes"):
        read_manifests([tmp_path])


def test_a_zip_holds_technologies_like_a_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "agent.zip", "w") as archive:
        archive.writestr("adapters/redis.c", write_source())
    with zipfile.ZipFile(tmp_path / "agent.zip") as archive:
        assert list(read_manifests([zipfile.Path(archive, "adapters/")])) == ["redis"]


def test_the_users_folders_come_from_the_environment() -> None:
    assert list_user_folders({"PATHLAB_ADAPTERS": "/a::/b", "HOME": "/home/u"}) == [
        "/a",
        "/b",
        "/home/u/.config/pathlab/adapters",
    ]
    assert list_user_folders({"XDG_CONFIG_HOME": "/etc/x", "HOME": "/h"}) == ["/etc/x/pathlab/adapters"]
    assert list_user_folders({}) == []
