"""Questions for secrets on the terminal of whoever runs the program."""

from __future__ import annotations

import os
import sys
import termios

from pathlab.escaping import escape_line
from pathlab.remote.ssh_auth import Secrets

TERMINAL = "/dev/tty"
MAX_LINE_BYTES = 4096


def ask_on_terminal() -> Secrets:
    """Secrets that are asked for on the terminal, where there is one."""
    return Secrets(ask_secret if sys.stdin is not None and sys.stdin.isatty() else None)


def ask_secret(question: str, terminal: str = TERMINAL) -> str:
    """One line that is typed without being shown. EOFError where none comes: no terminal, or Ctrl-D.

    Hosts ask from threads of their own, and only the main thread notices a signal: ``getpass`` would go on
    waiting. So Ctrl-C ends the line here, as KeyboardInterrupt of whoever asks.
    """
    try:
        descriptor = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise EOFError from error
    try:
        before = termios.tcgetattr(descriptor)
        unseen = termios.tcgetattr(descriptor)
        interrupt = before[6][termios.VINTR]
        unseen[3] &= ~(termios.ECHO | termios.ISIG)
        unseen[6][termios.VEOL] = interrupt
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, unseen)
        try:
            os.write(descriptor, escape_line(question).encode())
            line = os.read(descriptor, MAX_LINE_BYTES)
        finally:
            termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)
            os.write(descriptor, b"\n")
    except (OSError, termios.error) as error:
        raise EOFError from error
    finally:
        os.close(descriptor)
    if line.endswith(interrupt):
        raise KeyboardInterrupt
    if not line.endswith(b"\n"):
        raise EOFError
    return line[:-1].decode(errors="surrogateescape")
