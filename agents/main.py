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


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Serve one controller over stdin and stdout until it says bye or goes away; return the exit status."""
    parser = argparse.ArgumentParser(prog="pathlab-agent", description="PathLab's host side; speaks frames.")
    parser.add_argument("--engine", metavar="PATH", help="the pathlab-engine binary of this host")
    parser.add_argument("--discover", metavar="OPTIONS", help="probe a path instead; the agent starts this")
    parser.add_argument("--version", action="version", version=VERSION)
    options = parser.parse_args(arguments)
    if options.discover is not None:
        return run_discovery(options.discover)
    frames_in, frames_out = seize_standard_streams()
    return Agent(frames_in, frames_out, engine=options.engine, program=VERSION).run()


def seize_standard_streams() -> Tuple[int, int]:
    """Move stdin and stdout out of everybody's reach; return their private, non-inheritable duplicates."""
    frames_in, frames_out = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return frames_in, frames_out
