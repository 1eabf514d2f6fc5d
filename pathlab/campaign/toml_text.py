"""Text and tables of a TOML file, and its mistakes in words. Loads nothing that takes long."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pathlab.campaign.source_text import Finding, Key
from pathlab.errors import CampaignError
from pathlab.files import open_for_reading

TEXT_MAX_BYTES = 4 * 1024**2
#: Levels of tables and lists; no key of ours is deeper than five.
DEPTH_MAX = 100
_TOO_DEEP = f"tables and lists are nested too deeply; expected at most {DEPTH_MAX} levels"
#: What may hold the end of a line or a bracket, and these: strings, comments, brackets, ends of lines.
_TOKEN = re.compile(
    r"""
    "{3} (?: [^"\\]++ | \\. | "(?!"") )*+ "{3,5} | '{3} .*? '{3,5} |
    " (?: [^"\\]++ | \\. )*+ " | '[^']*' | \#[^\n]* | [][{}\n]
    """,
    re.DOTALL | re.VERBOSE,
)
#: What checks a file of each kind again; its name follows.
CHECKS = {"campaign": "pathlab plan", "lab": "pathlab lab show", "hosts file": "pathlab hosts check --hosts"}


def combine_mistakes(
    kind: str, label: str | Path, mistakes: Sequence[str], *, hint: str | None = None
) -> CampaignError:
    """Return the error that names every mistake of a file once; ``kind`` is one of ``CHECKS``.

    ``hint`` is for mistakes that are not in the file.
    """
    result = tuple(dict.fromkeys(mistakes))
    if len(result) == 1 and hint is not None:
        return CampaignError(result[0], mistakes=result, hint=hint)
    count = f"1 mistake: {result[0]}" if len(result) == 1 else f"{len(result)} mistakes"
    hint = hint or f"correct the file and check it with: {CHECKS[kind]} {shlex.quote(str(label))}"
    return CampaignError(f"{kind} '{label}' has {count}", mistakes=result, hint=hint)


def read_toml_text(kind: str, label: str, hint: str) -> str:
    """Return the text of a file. Raises CampaignError where it is out of reach, too large or not UTF-8."""
    try:
        with open_for_reading(Path(label)) as file:
            content = file.read(TEXT_MAX_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        text = f"{kind.removesuffix(' file')} file '{label}' cannot be read: {reason}"
        raise CampaignError(text, hint=hint) from error
    if len(content) > TEXT_MAX_BYTES:
        raise CampaignError(f"'{label}' is larger than 4 MiB", hint="name a TOML file of a few lines")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        mistake = f"{label}:{line}: is not UTF-8; expected a TOML file in UTF-8"
        raise combine_mistakes(kind, label, [mistake]) from error


def parse_toml(kind: str, label: str | Path, text: str) -> dict[str, Any]:
    """Return the tables of a file. Raises CampaignError with the line and column of what is not TOML."""
    try:
        return load_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise combine_mistakes(kind, label, [f"{label}:{_format_syntax_error(str(error), text)}"]) from error
    except ValueError as error:
        raise combine_mistakes(kind, label, [f"{label}: {error}"]) from error


def load_toml(text: str) -> dict[str, Any]:
    """Return the tables of a text. Raises TOMLDecodeError, or ValueError for what is TOML and too much."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise ValueError(f"{_TOO_DEEP}, or a number has too many digits") from error
    if _is_deeper(tables, DEPTH_MAX):
        raise ValueError(_TOO_DEEP)
    return tables


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not levels or any(_is_deeper(item, levels - 1) for item in inner if isinstance(item, (dict, list)))


def _format_syntax_error(message: str, text: str) -> str:
    match = re.search(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if match is None:
        return f"1: {message}; expected TOML"
    line = match.group(2) or str(text.count("\n") + 1)
    column = f":{match.group(3)}" if match.group(3) else ""
    return f"{line}{column}: {match.group(1)[:1].lower()}{match.group(1)[1:]}; expected TOML"


def format_finding(label: str | Path, finding: Finding, lines: Mapping[Key, int]) -> str:
    """Write a finding behind its place in the file: ``FILE:LINE: KEY: WHAT; expected ...``."""
    key, what = finding
    return f"{locate_key(label, key, lines)}: {what}"


def locate_key(label: str | Path, key: Key, lines: Mapping[Key, int]) -> str:
    """``FILE:LINE: KEY``, by ``list_key_lines``; of a key that is not there, the line of its table.

    Without the line where the file has neither: ``FILE:KEY``.
    """
    dotted = ".".join(map(str, key)) or "top level"
    line = next((lines[key[:size]] for size in range(len(key), 0, -1) if key[:size] in lines), None)
    return f"{label}:{dotted}" if line is None else f"{label}:{line}: {dotted}"


def list_key_lines(text: str) -> dict[Key, int]:
    """The line, from 1, on which each key and table of a TOML file begins; keys in a value have its line."""
    result: dict[Key, int] = {}
    last: dict[Key, int] = {}  # number of the last table in each list of tables
    table: Key = ()
    place: Any
    for line, statement, parsed in _read_statements(text):
        if not statement.lstrip().startswith("["):
            for key in _list_keys(parsed):
                result.setdefault((*table, *key), line)
            continue
        table, place = (), parsed
        while place:
            if isinstance(place, list):
                last[table] = last.get(table, -1) + 1
                break
            (step, place) = next(iter(place.items()))
            table = (*table, *((last[table],) if table in last else ()), step)
        table = (*table, last[table]) if table in last else table
        for size in range(1, len(table) + 1):
            result.setdefault(table[:size], line)
    return result


def _read_statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Each header and each key with its value: its first line's number, its text, and what that is by itself.

    A statement ends with the first line after which no bracket is open. Each is parsed once, so the time
    grows with the text's length only. Raises TOMLDecodeError where ``text`` is not TOML.
    """
    text = text.replace("\r\n", "\n") + "\n"
    begin = line = depth = 0
    for result in _TOKEN.finditer(text):
        token = result[0]
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if token == "\n" and depth == 0:
            statement = text[begin : result.end()]
            if parsed := tomllib.loads(statement):
                yield line + 1, statement, parsed
            begin, line = result.end(), line + statement.count("\n")


def _list_keys(value: Any) -> Iterator[Key]:
    """The keys of a table and of the tables and lists in it."""
    if isinstance(value, (dict, list)):
        for step, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield (step,)
            yield from ((step, *key) for key in _list_keys(below))
