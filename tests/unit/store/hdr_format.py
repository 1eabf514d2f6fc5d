"""A second reader of HdrHistogram's encoding and log, one byte after the other, as their descriptions say."""

import base64
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

HEADER = struct.Struct(">iiiiqqd")  # cookie, payload bytes, offset, digits, lowest, highest, ratio


@dataclass(frozen=True)
class LogLine:
    """One line: ``values`` maps the lowest value of each place, in ns, to how often it was counted."""

    tag: str
    start_s: float
    length_s: float
    max_ms: float
    values: dict[int, int]


def read_log(path: Path) -> list[LogLine]:
    comment, version, head, *lines = path.read_text(encoding="ascii").splitlines()
    assert (comment[0], version) == ("#", "#[Histogram log format version 1.2]")
    assert head == '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'
    found = []
    for line in lines:
        tag, start, length, largest, encoded = line.split(",")
        values = read_values(base64.b64decode(encoded, validate=True))
        found.append(LogLine(tag.removeprefix("Tag="), float(start), float(length), float(largest), values))
    return found


def read_values(encoded: bytes) -> dict[int, int]:
    cookie, size = struct.unpack_from(">ii", encoded)
    assert (cookie, size) == (0x1C849314, len(encoded) - 8)
    plain = zlib.decompress(encoded[8:])
    cookie, size, _, digits, lowest, _, ratio = HEADER.unpack_from(plain)
    assert (cookie, size, lowest, ratio) == (0x1C849313, len(plain) - HEADER.size, 1, 1.0)
    half = {2: 128, 3: 1024}[digits]
    octaves = {place: max(place // half - 1, 0) for place in read_payload(plain[HEADER.size :])}
    counts = read_payload(plain[HEADER.size :])
    return {(place - octaves[place] * half) << octaves[place]: count for place, count in counts.items()}


def list_numbers(payload: bytes) -> list[int]:
    """ZigZag LEB128, one byte after the other, as the format's description says."""
    numbers, number, shift = [], 0, 0
    for byte in payload:
        number |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            numbers.append(number >> 1 if number % 2 == 0 else -(number >> 1) - 1)
            number = shift = 0
    return numbers


def read_payload(payload: bytes) -> dict[int, int]:
    """Counts by place."""
    counts, place = {}, 0
    for number in list_numbers(payload):
        if number > 0:
            counts[place] = number
        place += max(-number, 1) if number <= 0 else 1
    return counts
