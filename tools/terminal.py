"""The screen of a terminal of any size after a command, as a page for a browser."""

from __future__ import annotations

import contextlib
import fcntl
import html
import os
import pty
import shlex
import struct
import subprocess
import termios
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import pyte

DIM, BLINK = 2, 5  # attributes of ECMA-48
#: Of a dark terminal; pyte names the second yellow "brown".
PALETTE = {
    **{"black": "#3b4252", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef"},
    **{"magenta": "#c678dd", "cyan": "#56b6c2", "white": "#dcdfe4", "brightblack": "#7f848e"},
}
TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #1e2127; color: #dcdfe4; display: inline-block; }
h1 { margin: 0; padding: 6px 12px; background: #2c313a; color: #9da5b4; font: 13px 'DejaVu Sans'; }
pre { margin: 0; padding: 10px 12px; font: 14px/1.25 'DejaVu Sans Mono', monospace; }
</style>"""


class TerminalScreen(pyte.Screen):
    """A screen that also keeps what is dim, in the place of what blinks, which nothing here does."""

    def select_graphic_rendition(self, *attrs: int, **options: Any) -> None:
        """Take over attributes; a 2 after 38 or 48 is part of a colour."""
        if not {38, 48} & set(attrs):
            attrs = tuple(BLINK if attribute == DIM else attribute for attribute in attrs)
        super().select_graphic_rendition(*attrs, **options)


def run_in_terminal(command: Sequence[str], columns: int, lines: int) -> TerminalScreen:
    """The screen of a terminal of that size after a command. Raises SystemExit where it fails."""
    screen, (ours, theirs) = TerminalScreen(columns, lines), pty.openpty()
    stream = pyte.ByteStream(screen)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment = {**kept, "TERM": "xterm-256color"}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    ) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # EIO: nobody has the other end any more
            while part := os.read(ours, 1 << 16):
                stream.feed(part)
    os.close(ours)
    if process.returncode:
        text = "\n".join(line.rstrip() for line in screen.display).strip()
        raise SystemExit(f"'{shlex.join(command)}' ended with status {process.returncode}:\n{text}")
    return screen


def render_screen(screen: TerminalScreen, title: str) -> str:
    """A page of the screen's lines, without the empty ones at its end."""
    lines = [_render_line(screen, number) for number in range(screen.lines)]
    while lines and not lines[-1].strip():
        lines.pop()
    width = f"<style>pre {{ width: {screen.columns}ch; }}</style>"
    return f"{TERMINAL}{width}<h1>{html.escape(title)}</h1><pre>" + "\n".join(lines) + "</pre>"


def _render_line(screen: TerminalScreen, number: int) -> str:
    row = screen.buffer[number]
    cells = [row[column] for column in range(screen.columns)]
    return "".join(_render_run(style, run) for style, run in groupby(cells, _get_style)).rstrip()


def _get_style(cell: pyte.screens.Char) -> tuple[str, bool, bool]:
    return cell.fg, cell.bold, cell.blink


def _render_run(style: tuple[str, bool, bool], run: Iterable[pyte.screens.Char]) -> str:
    text = html.escape("".join(cell.data for cell in run))
    colour, bold, dim = style
    rules = [f"color: {PALETTE.get(colour, f'#{colour}')}"] if colour != "default" else []
    rules += ["font-weight: bold"] * bold + ["opacity: .65"] * dim
    return f'<span style="{"; ".join(rules)}">{text}</span>' if rules else text
