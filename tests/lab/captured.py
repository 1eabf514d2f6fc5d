"""Captures of the engine, and transfers that are recorded at both ends."""

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.lab.wires import ADDRESS_B, Namespace, Wires
from tests.native.engine import MS, TOKEN, Ending, Engine, Flag, build_command, start_command

PORT = 5210
SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6
#: Offsets of the counts of a statistics block that this engine writes.
_ACCEPTED_AT, _DROPPED_AT, _RECORDED_AT = 48, 60, 72


@contextlib.contextmanager
def start_in(namespace: Namespace, subcommand: str, /, **flags: Flag) -> Iterator[Engine]:
    """An engine in a namespace, killed at the end in any case."""
    with start_command(namespace.command(*build_command(subcommand, **flags))) as engine:
        engine.expect("hello")
        yield engine


@contextlib.contextmanager
def capturing(namespace: Namespace, file: Path, **flags: Flag) -> Iterator[Engine]:
    """A capture that is ready: of one flow's port, unless ``flags`` say more."""
    wanted: dict[str, Flag] = {"port": PORT, "control": "stdin", "keep_free_bytes": 0, **flags}
    with start_in(namespace, "capture", file=str(file), **wanted) as capture:
        capture.expect("ready")
        yield capture


def stop_capture(capture: Engine) -> Ending:
    """Its end, after it recorded what had arrived."""
    capture.send_line("stop")
    return capture.finish()


def transfer(
    wires: Wires, *, address: str = ADDRESS_B, duration_ns: int = 300 * MS, **flags: Flag
) -> tuple[Ending, Ending]:
    """A flow of the engine from host a to host b. How the receiver and the sender ended."""
    both: dict[str, Flag] = {"port": PORT, "token": TOKEN, "duration_ns": duration_ns, "control": "stdin"}
    with start_in(wires.b, "receive", bind=address, **{**both, **flags}) as receiver:
        receiver.expect("listening")
        with start_in(wires.a, "send", address=address, **{**both, **flags}) as sender:
            sender.expect("ready")
            receiver.expect("ready")
            sender.send_line("go")
            sent = sender.finish()
        return receiver.finish(), sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A transfer with the captures of both ends, each of which ended as it should."""

    sender_file: Path
    receiver_file: Path
    sent: Ending
    received: Ending
    sender_capture: Ending
    receiver_capture: Ending


def record_transfer(
    wires: Wires, folder: Path, *, address: str = ADDRESS_B, duration_ns: int = 300 * MS, **flags: Flag
) -> Recorded:
    """A flow of the engine from host a to host b, recorded at both ends: ``folder/sender.pcapng`` and
    ``folder/receiver.pcapng``. The link between the hosts is the caller's (``tests/lab/emulation.py``)."""
    sender_file, receiver_file = folder / "sender.pcapng", folder / "receiver.pcapng"
    with (
        capturing(wires.a, sender_file, address=address) as at_sender,
        capturing(wires.b, receiver_file, address=address) as at_receiver,
    ):
        received, sent = transfer(wires, address=address, duration_ns=duration_ns, **flags)
        ends = [stop_capture(capture) for capture in (at_sender, at_receiver)]
    assert [end.status for end in ends] == [0, 0], ends
    return Recorded(
        sender_file=sender_file,
        receiver_file=receiver_file,
        sent=sent,
        received=received,
        sender_capture=ends[0],
        receiver_capture=ends[1],
    )


def read_blocks(file: Path) -> list[tuple[int, bytes]]:
    """Type and bytes of each block; all must be whole."""
    data, at, blocks = file.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0, at
        assert length >= 12, at
        assert data[at + length - 4 : at + length] == struct.pack("<I", length), (
            f"no end of the block at {at}"
        )
        blocks.append((kind, data[at : at + length]))
        at += length
    return blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Sums over the file's interfaces, in packets."""

    accepted: int
    dropped: int
    recorded: int


def read_statistics(file: Path) -> Statistics:
    """What the file's last blocks state."""
    blocks = [block for kind, block in read_blocks(file) if kind == STATISTICS]
    assert blocks
    sums = [
        sum(struct.unpack_from("<Q", block, at)[0] for block in blocks)
        for at in (_ACCEPTED_AT, _DROPPED_AT, _RECORDED_AT)
    ]
    return Statistics(accepted=sums[0], dropped=sums[1], recorded=sums[2])
