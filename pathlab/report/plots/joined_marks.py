"""Grid lines and ticks of an SVG as one path each.

matplotlib writes each as elements of its own, half of all. Whatever reads them takes its time by element, and
what makes a PDF of them most of all.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pathlab.report.plots.style import GRID

_LINE = re.compile(r'<path d="(M [^CQz"]*)" clip-path="([^"]*)" style="([^"]*)"/>')
_SYMBOL = re.compile(r'<path id="([^"]*)" d="M 0 0 L (\S+) (\S+) " style="([^"]*)"/>')
_TICK = re.compile(r'<g style="[^"]*"><use xlink:href="#([^"]*)" x="([^"]*)" y="([^"]*)"/></g>')
_DEFINITIONS = re.compile(r'<defs><path id="([^"]*)"[^>]*/></defs>')

#: What a match is joined by, its path, and its attributes besides; None: it stays as it is.
Part = tuple[str, str, str]


def join_marks(text: str) -> str:
    """The same drawing; ``text`` as matplotlib writes it, without white space between elements."""
    symbols = {name: ends for name, *ends in _SYMBOL.findall(text)}

    def read_line(result: re.Match[str]) -> Part | None:
        line, clip, style = result.groups()
        if f"stroke: {GRID};" not in style:
            return None
        return f"{clip} {style}", line, f'clip-path="{clip}" style="{style}"'

    def read_tick(result: re.Match[str]) -> Part | None:
        name, x, y = result.groups()
        if name not in symbols:
            return None
        across, upwards, style = symbols[name]
        line = f"M {x} {y} L {float(x) + float(across):.6f} {float(y) + float(upwards):.6f} "
        return style, line, f'style="{style}"'

    text = _join(_TICK, read_tick, _join(_LINE, read_line, text))
    return _DEFINITIONS.sub(lambda result: result[0] if f'"#{result[1]}"' in text else "", text)


def _join(pattern: re.Pattern[str], read: Callable[[re.Match[str]], Part | None], text: str) -> str:
    """Matches with the same key as one path, where the first of them was."""
    lines: dict[str, list[str]] = {}
    for result in pattern.finditer(text):
        if part := read(result):
            lines.setdefault(part[0], []).append(part[1])

    def write(result: re.Match[str]) -> str:
        part = read(result)
        if part is None:
            return result[0]
        joined = "".join(lines.pop(part[0], ()))
        return f'<path d="{joined}" {part[2]}/>' if joined else ""

    return pattern.sub(write, text)
