"""Writes docs/pathlab-engine.md, the engine's page and manual page, from the engine's own help.

Run it after a change: ``python tools/engine_page.py``. Exit statuses are those of native/PROTOCOL.md.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "native" / "build" / "pathlab-engine"
PAGE = ROOT / "docs" / "pathlab-engine.md"
#: A flag in a help text: its name, the kind of its value, what it does.
FLAG = re.compile(r"  (--[\w-]+)(?: ([A-Z]+))? +(.+)")
EXAMPLES = (
    ("pathlab-engine receive", "Admit one flow at port 5210, count its bytes and end."),
    ("pathlab-engine send HOST --streams 8 --duration 10s", "Send to it over 8 streams."),
    ("pathlab-engine send HOST --direction reverse", "Receive from it instead; `both`: at once."),
    (
        "pathlab-engine ask '{\"bytes\": 64}' perl agents/adapters/tcp_pipe.pl ask HOST 7000",
        "Measure round trips by a program behind a pipe, after the line `go`.",
    ),
    ("pathlab-engine load --cpu 2 --disk /var/tmp --time-limit 10s", "Two busy cores and a busy disk."),
    (
        "pathlab-engine capture FLOW.pcapng --address HOST --port 5210 --time-limit 30s",
        "Record the packet headers of a flow.",
    ),
    ("pathlab-engine ping HOST --interval 10ms --count 1000", "Probe the round trip by ICMP."),
)


def make_page() -> str:
    """The page's text. Raises OSError where the engine is not built."""
    return "\n".join(_format_page()).rstrip() + "\n"


def _read_help(*words: str) -> str:
    return subprocess.run([ENGINE, *words, "--help"], capture_output=True, text=True, check=True).stdout


def _format_page() -> Iterator[str]:
    subcommands = re.findall(r"^  (\w+) +(.+)$", _read_help(), re.MULTILINE)
    yield from (
        "# pathlab-engine",
        "",
        "## Synopsis",
        "",
        "```text",
        "pathlab-engine SUBCOMMAND --flag value ...",
    )
    yield from (
        "pathlab-engine SUBCOMMAND --help",
        "pathlab-engine --version",
        "```",
        "",
        "## Description",
        "",
    )
    yield "PathLab's engine is one static program that also works alone."
    yield from (
        "It prints text at a terminal and JSON lines elsewhere, since programs read it there. iperf3 prints "
        "text in a pipe, too; for that, say `--output human`, as in `pathlab-engine send HOST --output human "
        "| tee log`.",
        "",
    )
    for name, about in subcommands:
        yield from (f"`{name}`", f": {about[0].upper()}{about[1:]}.", "")
    yield from ("## Options", "")
    for name, _ in subcommands:
        yield from _format_subcommand(name)
    yield from ("## Examples", "")
    for line, meaning in EXAMPLES:
        yield from (f"`{line}`", f": {meaning}", "")
    yield from ("## Exit status", "")
    for number, meaning in _read_statuses():
        yield from (number, f": {meaning}", "")


def _format_subcommand(name: str) -> Iterator[str]:
    usage, about, *lines = _read_help(name).splitlines()
    yield from (f"### {usage.removeprefix('usage: ')}", "", about, "")
    for line in lines:
        flag = FLAG.fullmatch(line)
        if flag:
            yield from (f"`{flag[1]}{f' {flag[2]}' if flag[2] else ''}`", f": {flag[3]}", "")
        elif line.endswith(":"):
            yield from (f"{line[:-1]}:", "")
        elif line:
            yield line
    yield ""


def _read_statuses() -> list[tuple[str, str]]:
    text = (ROOT / "native" / "PROTOCOL.md").read_text(encoding="utf-8")
    table = text.partition("| exit status | meaning |\n|---|---|\n")[2].partition("\n\n")[0]
    return re.findall(r"^\| (\d+) \| (.+) \|$", table, re.MULTILINE)


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
