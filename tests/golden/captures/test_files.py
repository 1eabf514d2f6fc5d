"""pcap and pcapng files: every byte order, resolution and block; scapy's raw readers are the reference."""

import os
import struct
from pathlib import Path

import pytest

from pathlab.captures.capture import open_capture, read_capture
from pathlab.errors import StoreError, UsageError
from tests.builders.packets import build_block, build_enhanced, write_pcap, write_pcapng
from tests.golden.conftest import Say, catch
from tests.unit.captures.test_files import make_pcapng, read_all


def test_damage_of_a_block_between_packets_keeps_those_before(say: Say, tmp_path: Path) -> None:
    other = bytearray(build_block(5, struct.pack("<III", 0, 0, 0)))
    other[-1] = 1
    packet = build_enhanced(1, b"x")
    path = write_pcapng(tmp_path / "a.pcapng", packet * 3, bytes(other), packet)
    notes, found = read_all(path)
    assert len(found) == 3
    say(notes.damage or "")


def test_a_damaged_length_ends_a_pcap_in_words(say: Say, tmp_path: Path) -> None:
    data = bytearray(write_pcap(tmp_path / "a.pcap", [(i, b"x" * 20) for i in range(10)]).read_bytes())
    data[24 + 5 * 36 + 8 : 24 + 5 * 36 + 12] = b"\xff" * 4
    path = tmp_path / "b.pcap"
    path.write_bytes(data)
    notes, found = read_all(path)
    assert len(found) == 5
    say(notes.damage)


def test_a_wrong_length_that_could_be_is_found_by_the_times_after_it(say: Say, tmp_path: Path) -> None:
    packets = [(2_000_000_000_000_000_000 + i, b"x" * 20) for i in range(10)]
    data = bytearray(write_pcap(tmp_path / "a.pcap", packets).read_bytes())
    data[24 + 2 * 36 + 8] = 16
    path = tmp_path / "b.pcap"
    path.write_bytes(data)
    notes, found = read_all(path)
    assert len(found) == 3
    say(notes.damage or "")


def test_a_cut_pcapng_is_read_up_to_there(say: Say, tmp_path: Path) -> None:
    data, _ = make_pcapng(tmp_path)
    path = tmp_path / "a.pcapng"
    path.write_bytes(data[:-3])
    notes, found = read_all(path)
    assert len(found) == 9
    say(notes.damage or "")


@pytest.mark.parametrize("data", [b"", b"hello world", b"\x1f\x8b\x08\0"])
def test_files_that_are_no_captures(say: Say, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught:
        open_capture(path)
    say(caught.value)


@pytest.mark.parametrize("name", ["none.pcap", "."])
def test_a_missing_file_and_a_folder_are_named(say: Say, tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_capture(tmp_path / name)
    say(caught.value)


def test_a_pipe_is_refused_before_it_is_opened(say: Say, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    say(catch(StoreError, open_capture, pipe))


def test_an_unknown_link_type_is_an_error_that_names_it(say: Say, tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", [(5, b"x" * 60)], link=147)
    say(catch(UsageError, read_capture, path))
