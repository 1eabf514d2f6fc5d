"""``pathlab measure HOST [HOST]``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_ends, check_place, check_wait
from pathlab.cli.commands.declaration import (
    ACCEPT_KEYS,
    ENDS,
    HOSTS_FILE,
    PATH,
    WAIT_IDLE,
    declare,
    flag,
    json_flag,
    option,
)
from pathlab.cli.commands.names import RATE_MAX, RRUL_STREAMS, TIME, UDP_RATE, WARMUP

command = declare(
    "measure",
    "measure.measure",
    """Measure once from the first HOST to the second (from this machine when one is named).

    A HOST is `local`, this machine, a host of hosts.toml, or [user@]host[:port] as for ssh.
    """,
    ENDS,
    option(
        "--streams",
        "-P",
        type=click.IntRange(1, 4096),
        help=f"TCP connections, or UDP flows. [default: 1, with --rrul {RRUL_STREAMS}]",
    ),
    option("--window", "-w", default="auto", help="Socket buffer per stream, such as 256K."),
    option("--time", "-t", "duration", help=f"Steady window; a bare number is seconds. [default: {TIME}]"),
    option(
        "--bytes",
        "transfer",
        help="Carry this much in each direction instead, such as 1G; with --warmup its data count as well.",
    ),
    flag("--reverse", "-R", help="The second HOST sends."),
    flag("--both", help="Both send at once."),
    flag(
        "--rrul",
        help=f"Latency under load in both directions: {RRUL_STREAMS} streams each at once, as Flent's rrul.",
    ),
    option(
        "--receiver",
        "-p",
        type=click.IntRange(1, 65534),
        metavar="PORT",
        help="Without SSH: use `pathlab-engine receive --flows 0 --port PORT`, which runs at HOST already.",
    ),
    flag("--udp", help="Send UDP datagrams: measures loss, reordering and jitter."),
    option(
        "--rate",
        "pacing",
        help="Highest rate of each direction, all streams together, such as 40Mbit/s; with --udp the rate "
        f"offered, or `{RATE_MAX}`, as fast as possible. [default: TCP none, UDP {UDP_RATE}]",
    ),
    option("--datagram", help="UDP: payload of each datagram, such as 64. [default: the path's MTU]"),
    flag("--gso", help="UDP: the sender hands over several datagrams at once (UDP_SEGMENT)."),
    flag("--gro", help="UDP: the receiver takes several datagrams at once (UDP_GRO)."),
    option("--message", help="Send messages of this size, such as 64B, instead of a stream of bytes."),
    option(
        "--message-rate", type=click.IntRange(1), help="Messages per second. [default: as many as possible]"
    ),
    flag("--reply", help="The receiver returns each message: measures its round trip."),
    option("--transport", help="What carries the data: tcp, mptcp, udp, or on one host unix."),
    option(
        "--warmup",
        help=f"Traffic before the steady window. [default: {WARMUP} or half of --time, the shorter; "
        "with --bytes 0s]",
    ),
    option("--interval", default="100ms", help="Length of one record."),
    option("--congestion", default="default", help="Congestion control, such as cubic."),
    option("--probe-interval", default="20ms", help="Time between two RTT probes."),
    option(
        "--probe-timeout",
        default="1s",
        help="First time-out of a probe; it grows to three times the longest RTT, and a later answer counts.",
    ),
    option("--unloaded", default=20, help="RTT probes after the traffic."),
    json_flag("Print the answer and the whole record as JSON."),
    flag("--summary", help="Print one line to paste into a ticket."),
    option("--out", type=PATH, help="Keep the results, with all series, in this folder."),
    option(
        "--history",
        type=PATH,
        metavar="FILE.db",
        help="Append to this file, made if it is not there; it is read as any results.",
    ),
    WAIT_IDLE,
    HOSTS_FILE,
    ACCEPT_KEYS,
    first_line=lambda given: None if given["as_json"] or given["summary"] else "preparing the measurement",
    checks=(check_ends, check_place("--out"), check_place("--history"), check_wait),
)
