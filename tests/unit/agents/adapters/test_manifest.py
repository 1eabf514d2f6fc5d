"""Manifests of technologies: what an adapter's file says, and what is refused, by file and key."""

from __future__ import annotations

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


def source(changes: dict[str, Any] | None = None, *, drop: str | None = None) -> str:
    table = {key: value for key, value in {**TABLE, **(changes or {})}.items() if key != drop}
    lines = json.dumps(table, indent=1).splitlines()
    return "/* pathlab-adapter\n" + "".join(f" * {line}\n" for line in lines) + " * end */\nint x;\n"


def read(changes: dict[str, Any] | None = None, *, drop: str | None = None) -> list[Manifest]:
    return read_manifest_file("redis.c", source(changes, drop=drop))


def test_a_manifest_has_its_keys_and_what_is_left_out() -> None:
    (manifest,) = read()
    assert (manifest.name, manifest.variant, manifest.file) == ("redis", None, "redis.c")
    assert manifest.build == (("cc", "{source}", "{harness}", "-o", "{program}", "-lhiredis"),)
    assert manifest.server == ("redis-server", "--port", "{port}", "--dir", "{folder}")
    assert (manifest.port, manifest.protocol, manifest.responder) == ("given", "tcp", False)
    assert (manifest.baseline, manifest.benchmark, manifest.adds, manifest.client) == (None, None, (), ())
    assert manifest.source == source()


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


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"speed": 1}, "redis.c: unknown key 'speed'"),
        ({"contract": 2}, "redis.c: key 'contract': it is written for contract 2, this PathLab has 1"),
        ({"contract": True}, "key 'contract' must be an integer"),
        ({"name": "native"}, "redis.c: key 'name' must be a name"),
        ({"name": "technologies"}, "key 'name' must be a name"),
        ({"name": "shared-memory"}, "key 'name' must be a name"),
        ({"name": "../x"}, "key 'name' must be a name"),
        ({"name": "Redis"}, "key 'name' must be a name"),
        ({"name": "x" * 32}, "key 'name' must be a name"),
        ({"name": 7}, "key 'name' must be a name"),
        ({"title": ""}, "key 'title' must be a text"),
        ({"language": "rust"}, "key 'language' must be one of c, c.., python, java, pipe"),
        ({"language": []}, "key 'language' must be one of"),
        ({"beneath": "sctp"}, "key 'beneath' must be one of tcp, udp"),
        ({"baseline": 1}, "key 'baseline' must be a name"),
        ({"adds": "broker"}, "key 'adds' must be a list"),
        ({"adds": [1]}, "key 'adds' must be a text"),
        ({"needs": [{"library": "x"}]}, "key 'needs' must hold objects with one of program, header"),
        ({"needs": [{"program": "x", "header": "y"}]}, "key 'needs' must hold objects"),
        ({"needs": [{"program": "x", "rpm": "y"}]}, "key 'needs' must hold objects"),
        ({"needs": ["x"]}, "key 'needs' must hold objects"),
        ({"build": []}, "key 'build' is needed for language 'c'"),
        ({"build": [[]]}, "key 'build' must be a list of words"),
        ({"build": [["sh", "-c", "id"]]}, "key 'build' may call cc, c.., javac, omniidl, not 'sh'"),
        ({"build": [["cc", "{port}"]]}, r"key 'build' has the placeholder \{port\}; known here: \{source\}"),
        ({"server": ["x", "{prot}"]}, r"key 'server' has the placeholder \{prot\}"),
        ({"server": "redis-server"}, "key 'server' must be a list"),
        ({"server": ["x\0"]}, "key 'server' must be made of texts"),
        ({"server": None, "responder": True}, "key 'responder' needs a 'server'"),
        ({"server": None, "prepare": [["initdb"]]}, "key 'prepare' needs a 'server'"),
        ({"files": {"../a.idl": "x"}}, r"key 'files' names the file '../a.idl'"),
        ({"files": {"..": "x"}}, "key 'files' names the file"),
        ({"files": ["a"]}, "key 'files' must be an object of texts"),
        ({"responder": 1}, "key 'responder' must be true or false"),
        ({"port": "any"}, "key 'port' must be one of given, own"),
        ({"client": ["perl"]}, "key 'client' belongs to language 'pipe'"),
        ({"language": "python"}, "key 'build' is not used by language 'python'"),
        ({"language": "pipe", "build": []}, "key 'client' belongs to language 'pipe', which needs it"),
        ({"limits": [{"what": "x"}]}, "key 'limits' must hold objects with what and constraint"),
        ({"variants": []}, "key 'variants' must be an object"),
        ({"variants": {"a": 1}}, "variant 'a' must be an object"),
        ({"variants": {"a": {"language": "c"}}}, "variant 'a': key 'language' cannot be changed"),
        ({"variants": {"../a": {}}}, "variant '../a': key 'name' must be a name"),
        ({"variants": {"a": {"port": 1}}}, "variant 'a': key 'port' must be one of"),
    ],
)
def test_what_is_wrong_is_refused_by_file_and_key(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ManifestError, match=text):
        read(changes)


@pytest.mark.parametrize("key", ["contract", "name", "title", "language", "beneath"])
def test_a_key_that_each_technology_has_cannot_be_left_out(key: str) -> None:
    with pytest.raises(ManifestError, match=f"redis.c: key '{key}' is missing"):
        read(drop=key)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("int x;\n", "no line among the first 10 lines ends in 'pathlab-adapter'"),
        ("// pathlab-adapter\n// {}\n", "no last line 'end'"),
        ("// pathlab-adapter\n// end\n", "line 2 is no JSON"),
        ("// pathlab-adapter\n// {\n// x\n// end\n", "line 3 is no JSON"),
        ("// pathlab-adapter\n// []\n// end\n", "no JSON object"),
        ('// pathlab-adapter\n// {"name": "a", "name": "b"}\n// end\n', "key 'name' occurs twice"),
        ("// pathlab-adapter\n// " + "[" * 100_000 + "\n// end\n", "no JSON"),
        ("x" * 300_000, "at most 262144 bytes"),
    ],
)
def test_a_file_without_a_manifest_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ManifestError, match=fault):
        read_manifest_file("a.c", text)


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
    assert_read_or_refused(source(changes))


def test_folders_hold_technologies_by_name(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
    (first / "redis.c").write_text(source())
    (first / "notes.md").write_text(source())
    (first / "helper.c").write_text("int x;\n")
    (first / "data").write_bytes(b"\xff\xfe")
    (first / "folder.c").mkdir()
    (second / "two.c").write_text(source({"name": "a-first"}))
    assert list(read_manifests([first, second, tmp_path / "absent"])) == ["a-first", "redis"]
    (second / "again.c").write_text(source())
    with pytest.raises(ManifestError, match=r"again\.c: the name 'redis' is taken by .*/a/redis\.c"):
        read_manifests([first, second])
    faults: list[str] = []
    assert list(read_manifests([first, second], faults)) == ["a-first", "redis"]
    assert len(faults) == 1


def test_of_a_file_that_is_too_large_the_start_alone_is_read(tmp_path: Path) -> None:
    (tmp_path / "large.c").write_text(source())
    os.truncate(tmp_path / "large.c", 1 << 40)
    with pytest.raises(ManifestError, match=r"large\.c: an adapter's file has at most 262144 bytes"):
        read_manifests([tmp_path])


def test_a_zip_holds_technologies_like_a_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "agent.zip", "w") as archive:
        archive.writestr("adapters/redis.c", source())
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
