"""The agent protocol byte for byte, and what the agent's sources promise about where they run.

The golden frames were written by hand from agents/PROTOCOL.md; they change only with the protocol's version.
"""

import ast
import io
import itertools
import json
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathlab import agents
from pathlab._version import VERSION
from pathlab.agents.adapters.manifest import list_adapter_files
from pathlab.agents.counters import nic_drops, nics, qdiscs, softnet
from pathlab.agents.counters.cpu import SHARES
from pathlab.agents.counters.watch import SOURCES
from pathlab.agents.protocol import (
    MAX_BODY_BYTES,
    MAX_NOISE_BYTES,
    PROTOCOL_VERSION,
    REQUEST_FIELDS,
    FrameDecoder,
    FrameError,
    Message,
    MessageError,
    check_agent_message,
    check_request,
    encode_frame,
)
from pathlab.remote.deploy import build_agent_zip
from tests.require import require

ROOT = Path(__file__).parents[2]
AGENT_ROOT = Path(agents.__file__).parent
#: Technologies are programs of their own, which may import anything.
TECHNOLOGIES = {path.name for path in list_adapter_files([AGENT_ROOT / "adapters"])}
AGENT_SOURCES = sorted(path for path in AGENT_ROOT.rglob("*.py") if path.name not in TECHNOLOGIES)

GOLDEN: list[tuple[bytes, Message]] = [
    (b"PLF1\x00\x00\x00\x02{}", {}),
    (
        b'PLF1\x00\x00\x00\x4a{"op":"hello","protocol":2,"program":"0.1.0","require":["engine","facts"]}',
        {"op": "hello", "protocol": 2, "program": "0.1.0", "require": ["engine", "facts"]},
    ),
    (
        b'PLF1\x00\x00\x00\x36{"type":"answer","id":3,"ok":true,"result":{"job":12}}',
        {"type": "answer", "id": 3, "ok": True, "result": {"job": 12}},
    ),
    # A name beyond ASCII travels escaped.
    (b'PLF1\x00\x00\x00\x0e{"a":"\\u00e9"}', {"a": "é"}),
    (
        b'PLF1\x00\x00\x00\x2d{"type":"engine","job":1,"record":{"n":null}}',
        {"type": "engine", "job": 1, "record": {"n": None}},
    ),
]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.dictionaries(st.text(), JSON, max_size=5)


def decode(pieces: list[bytes]) -> list[Message]:
    decoder = FrameDecoder(noise_bytes=0)
    messages: list[Message] = []
    for piece in pieces:
        decoder.feed(piece)
        while (message := decoder.read()) is not None:
            messages.append(message)
    assert len(decoder._buffer) == 0
    return messages


@pytest.mark.parametrize(("frame", "message"), GOLDEN)
def test_golden_frames_are_what_is_written_and_read(frame: bytes, message: Message) -> None:
    assert encode_frame(message) == frame
    assert decode([frame]) == decode([bytes([byte]) for byte in frame]) == [message]


@pytest.mark.parametrize("noise", [b"", b"P", b"PLF", b"PLPLF", b"x" * 64, b"motd\r\nPL F1 PLF\n"])
def test_noise_before_the_first_frame_is_skipped_however_it_is_cut(noise: bytes) -> None:
    stream = noise + GOLDEN[1][0]
    for at in range(len(stream) + 1):
        decoder = FrameDecoder(noise_bytes=64)
        decoder.feed(stream[:at])
        early = decoder.read()
        decoder.feed(stream[at:])
        assert [early or decoder.read()] == [GOLDEN[1][1]]
        assert decoder.noise == noise


@pytest.mark.parametrize("pieces", [1, 65, 70_000])
def test_noise_beyond_its_allowance_is_an_error(pieces: int) -> None:
    decoder = FrameDecoder(noise_bytes=MAX_NOISE_BYTES)
    data = b"n" * (MAX_NOISE_BYTES + 1)
    with pytest.raises(FrameError, match="no frame within the first 65536 bytes"):
        for at in range(0, len(data), pieces):
            decoder.feed(data[at : at + pieces])
            assert decoder.read() is None
            assert len(decoder._buffer) < 4
    assert len(decoder.noise) == MAX_NOISE_BYTES


def test_the_length_cap_holds_from_the_header_alone() -> None:
    decoder = FrameDecoder()
    decoder.feed(b"PLF1" + struct.pack(">I", MAX_BODY_BYTES + 1))
    with pytest.raises(FrameError, match="16777217 bytes was announced"):
        decoder.read()
    with pytest.raises(FrameError, match="16777217 bytes was announced"):
        decoder.read()  # a broken stream stays broken
    allowed = FrameDecoder()
    allowed.feed(b"PLF1" + struct.pack(">I", MAX_BODY_BYTES))
    assert allowed.read() is None
    with pytest.raises(FrameError, match="the most is"):
        encode_frame({"a": "x" * MAX_BODY_BYTES})


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"1", b"{", b'{"a":NaN}', b'{"a":-Infinity}', b"\xff\xfe", b'{"a":' + b"[" * 100_000]
)
def test_a_body_that_is_no_object_is_an_error(body: bytes) -> None:
    with pytest.raises(FrameError, match="no JSON object"):
        decode([b"PLF1" + struct.pack(">I", len(body)) + body])


def test_messages_before_a_broken_frame_are_delivered() -> None:
    decoder = FrameDecoder(noise_bytes=64)  # which may come before the first frame alone
    decoder.feed(GOLDEN[2][0] + b"JUNK")
    assert decoder.read() == GOLDEN[2][1]
    with pytest.raises(FrameError, match="JUNK"):
        decoder.read()


@pytest.mark.parametrize(
    "message", [{"a": float("nan")}, {"a": float("inf")}, {"a": b"bytes"}, {"a": {1, 2}}]
)
def test_what_is_not_plain_json_is_not_written(message: Message) -> None:
    with pytest.raises(FrameError, match="not plain JSON"):
        encode_frame(message)


@given(st.lists(MESSAGES, max_size=4), st.lists(st.integers(min_value=0, max_value=400), max_size=6))
def test_any_messages_survive_any_cut(messages: list[Message], cuts: list[int]) -> None:
    stream = b"".join(encode_frame(message) for message in messages)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(edges)]
    assert decode(pieces) == messages


@given(st.binary(max_size=200), st.integers(min_value=0, max_value=64))
def test_any_bytes_give_messages_or_a_frame_error(data: bytes, noise_bytes: int) -> None:
    decoder = FrameDecoder(noise_bytes=noise_bytes)
    decoder.feed(data)
    for _ in range(len(data) + 1):
        try:
            if decoder.read() is None:
                break
        except FrameError as error:
            with pytest.raises(FrameError, match=re.escape(str(error))):
                decoder.read()
            break
    else:
        raise AssertionError("more messages than bytes")


@given(st.dictionaries(st.sampled_from(["op", "id", "protocol", "require", "optional", "job", "x"]), JSON))
def test_any_request_is_accepted_or_refused_by_name(message: Message) -> None:
    try:
        operation = check_request(message)
    except MessageError:
        return  # any other exception fails the test
    assert operation == message["op"]
    assert set(REQUEST_FIELDS[operation]) <= set(message)


@given(st.dictionaries(st.sampled_from(["type", "id", "ok", "result", "error", "job", "x"]), JSON))
def test_any_agent_message_is_accepted_or_refused_by_name(message: Message) -> None:
    try:
        kind, unknown = check_agent_message(message)
    except MessageError:
        return  # any other exception fails the test
    assert kind == message["type"]
    assert set(unknown) < set(message)


SAMPLES: dict[str, Any] = {"integer": 1, "text": "a", "texts": ["a"], "object": {}, "boolean": True}


@pytest.mark.parametrize("operation", sorted(REQUEST_FIELDS))
def test_each_operation_requires_each_of_its_fields_and_no_other(operation: str) -> None:
    whole = {"op": operation, **{name: SAMPLES[kind] for name, kind in REQUEST_FIELDS[operation].items()}}
    assert check_request(whole) == operation
    for name in REQUEST_FIELDS[operation]:
        with pytest.raises(MessageError, match=f"missing field '{name}'"):
            check_request({key: value for key, value in whole.items() if key != name})
        for wrong in (None, True if REQUEST_FIELDS[operation][name] == "integer" else 1.5):
            with pytest.raises(MessageError, match=f"field '{name}' must be"):
                check_request({**whole, name: wrong})
    with pytest.raises(MessageError, match="unknown required field 'speed'"):
        check_request({**whole, "speed": 1})
    assert check_request({**whole, "speed": 1, "optional": ["speed"]}) == operation


def test_an_answer_needs_the_part_that_its_outcome_promises() -> None:
    answer = {"type": "answer", "id": 1, "ok": True, "result": {}, "n": 1}
    assert check_agent_message(answer) == ("answer", ["n"])
    with pytest.raises(MessageError, match="'result' must be an object"):
        check_agent_message({"type": "answer", "id": 1, "ok": True, "error": {}})
    with pytest.raises(MessageError, match="'error' must be an object"):
        check_agent_message({"type": "answer", "id": 1, "ok": False, "result": {}})


def test_the_document_names_every_operation_and_the_version() -> None:
    text = (AGENT_ROOT / "PROTOCOL.md").read_text(encoding="utf-8")
    table = set(re.findall(r"^\| `([a-z.]+)` \|", text, re.MULTILINE))
    assert table | {"hello"} == set(REQUEST_FIELDS)
    assert f'"protocol":{PROTOCOL_VERSION},' in text


def test_a_counters_sample_has_the_fields_that_the_document_shows() -> None:
    text = (AGENT_ROOT / "PROTOCOL.md").read_text(encoding="utf-8")
    shown = re.search(r"## A counters sample\n\n```\n(.*?)```", text, re.DOTALL)
    documented = json.loads(shown.group(1).replace("…", "0"))
    assert list(documented) == ["time_ns", "span_ns", "cores", *(source.name for source in SOURCES)]
    assert list(documented["cores"][0]) == ["core", *SHARES]
    (nic,) = nics.compare_nics({"eth0": (0,) * 8}, {"eth0": (0,) * 8})
    assert list(documented["nics"][0]) == list(nic)
    assert list(documented["nic_drops"][0]) == ["interface", *nic_drops.COUNTERS]
    lines = softnet.parse_softnet("0 " * 13)
    compared = softnet.compare_softnet(lines, lines)
    assert list(documented["softnet"]) == list(compared)
    assert list(documented["softnet"]["cores"][0]) == list(compared["cores"][0])
    identity = qdiscs.QdiscId(interface_index=1, handle=0, parent=0)
    qdisc = qdiscs.Qdisc(kind="tbf", counts={}, backlog_bytes=0, qlen=0)
    reading = qdiscs.QdiscReading(qdiscs={identity: qdisc}, interfaces={1: "eth0"})
    assert list(documented["qdiscs"][0]) == list(qdiscs.compare_qdiscs(reading, reading)[0])


def test_no_call_is_newer_than_python_3_8(tmp_path: Path) -> None:
    """Syntax is read below; names and arguments that came later are known to vermin."""
    vermin = Path(sys.executable).with_name("vermin")
    require(vermin.exists(), "vermin (pip install vermin)")
    newer = tmp_path / "newer.py"
    newer.write_text('"ab".removeprefix("a")\n', encoding="utf-8")  # 3.9: what is looked for is found
    command = [str(vermin), "--target=3.8-", "--no-tips", "--violations"]
    for path, status in ((newer, 1), (AGENT_ROOT.resolve(), 0)):
        done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout


@pytest.mark.parametrize("path", AGENT_SOURCES, ids=lambda path: str(path.relative_to(AGENT_ROOT)))
def test_sources_keep_to_python_3_8_and_the_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
    nodes = list(ast.walk(tree))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    allowed = {"pathlab._version", "pathlab.agents"}
    for name in imported:
        top = name.partition(".")[0]
        assert top in sys.stdlib_module_names or name in allowed or name.startswith("pathlab.agents."), name
    if any(isinstance(node, ast.AnnAssign) or getattr(node, "annotation", None) for node in nodes):
        assert "from __future__ import annotations" in path.read_text(encoding="utf-8")


def test_the_zip_is_the_same_bytes_every_time_and_holds_every_source_once() -> None:
    data = build_agent_zip({})
    assert data == build_agent_zip({})
    folders = [AGENT_ROOT / "adapters", AGENT_ROOT / "adapters" / "harness"]
    adapters = {path for folder in folders for path in folder.iterdir() if path.suffix not in ("", ".md")}
    files = {*AGENT_SOURCES, *adapters}
    sources = ["pathlab/agents/" + path.relative_to(AGENT_ROOT).as_posix() for path in files]
    harness = (ROOT / "native" / "src" / "adapter" / "sources.txt").read_text(encoding="utf-8").split()
    sources += [f"native/src/{name}" for name in harness]
    assert sorted(list_zip(data)) == sorted(
        ["__main__.py", "pathlab/__init__.py", "pathlab/_version.py", *sources]
    )


def list_zip(data: bytes, folder: str = "") -> list[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return [name for name in archive.namelist() if name.startswith(folder)]


def test_what_an_editor_leaves_beside_adapters_is_not_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "adapters" / "harness").mkdir(parents=True)
    for name in ("redis.c", "redis.c~", "redis.c.orig"):
        (tmp_path / "adapters" / name).write_text("int x;\n", encoding="utf-8")
    (tmp_path / "adapters" / "folder.c").mkdir()
    (tmp_path / "__main__.py").touch()
    monkeypatch.setattr(agents, "__file__", str(tmp_path / "__init__.py"))
    packed = list_zip(build_agent_zip({}), "pathlab/agents/adapters/")
    assert packed == ["pathlab/agents/adapters/redis.c"]


def test_the_users_technologies_travel_in_the_zip(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("# pathlab-adapter\n# {broken\n# end\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no manifest", encoding="utf-8")
    data = build_agent_zip({"PATHLAB_ADAPTERS": f"{tmp_path / 'absent'}:{tmp_path}"})
    assert list_zip(data, "adapters/") == ["adapters/1/mine.py"]
    assert data != build_agent_zip({})


def test_the_zip_runs_isolated_and_imports_nothing_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "agent.zip"
    path.write_bytes(build_agent_zip())
    command = [sys.executable, "-I", "-S", str(path), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, VERSION, "")
