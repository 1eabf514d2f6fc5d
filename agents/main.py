"""The agent as a program: arguments, and which descriptors carry frames.

Frames go through private duplicates of the descriptors 0 and 1. Afterwards 0 is the null device and 1 is a
second name for stderr, so that a stray ``print`` or a child cannot write between two frames.
"""

from __future__ import annotations

import argparse
import os
from typing import Optional, Sequence, Tuple

from pathlab._version import VERSION
from pathlab.agents.agent import Agent
from pathlab.agents.discovery.program import run_discovery
from pathlab.agents.limits import MAX_SECONDS, Caps
from pathlab.agents.peers import run_peer


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Serve one controller over stdin and stdout until it says bye or goes away; return the exit status."""
    parser = argparse.ArgumentParser(prog="pathlab-agent", description="PathLab's host side; speaks frames.")
    parser.add_argument("--engine", metavar="PATH", help="the pathlab-engine binary of this host")
    parser.add_argument("--against", metavar="PATH", help="another build of it, to be compared with it")
    parser.add_argument(
        "--silence-s", metavar="SECONDS", type=float, help="end when the controller says nothing for so long"
    )
    parser.add_argument("--discover", metavar="OPTIONS", help="probe a path instead; the agent starts this")
    parser.add_argument("--peer", metavar="OPTIONS", help="run another program; the agent starts this")
    parser.add_argument("--adapter", metavar="OPTIONS", help="run a technology; the agent starts this")
    parser.add_argument("--version", action="version", version=VERSION)
    caps = parser.add_argument_group("caps on every engine, whatever the controller requests")
    caps.add_argument("--max-seconds", metavar="S", type=_read_seconds, default=MAX_SECONDS)
    caps.add_argument("--max-bytes", metavar="N", type=_read_integer)
    caps.add_argument("--max-rate", metavar="BITS_PER_S", type=_read_integer, help="of what this host sends")
    options = parser.parse_args(arguments)
    if options.discover is not None:
        return run_discovery(options.discover)
    if options.peer is not None:
        return run_peer(options.peer)
    if options.adapter is not None:
        from pathlab.agents.adapters.runner import run_adapter  # seldom needed, and an agent starts quickly

        return run_adapter(options.adapter)
    frames_in, frames_out = seize_standard_streams()
    granted = Caps(options.max_seconds, options.max_bytes, options.max_rate)
    agent = Agent(
        frames_in,
        frames_out,
        engine=options.engine,
        against=options.against,
        program=VERSION,
        caps=granted,
    )
    agent.silence_s = options.silence_s
    return agent.run()


def _read_integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a positive integer")
    return int(text)


def _read_seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is not a positive number of seconds")
    return value


def seize_standard_streams() -> Tuple[int, int]:
    """Move stdin and stdout out of everybody's reach; return their private, non-inheritable duplicates."""
    frames_in, frames_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return frames_in, frames_out
