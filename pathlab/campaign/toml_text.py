"""Text and tables of a TOML file, and its mistakes in words. Loads nothing that takes long."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pathlab.campaign.source_text import Finding
from pathlab.errors import CampaignError

TEXT_MAX_BYTES = 4 * 1024**2
#: What checks a file of each kind again.
CHECKS = {
    "campaign": "pathlab plan",
    "lab": "pathlab lab show FILE",
    "hosts file": "pathlab hosts check --hosts FILE",
}


def refuse(kind: str, label: str | Path, mistakes: Sequence[str]) -> CampaignError:
    """Return the error that names every mistake of a file once; ``kind`` is one of ``CHECKS``."""
    found = tuple(dict.fromkeys(mistakes))
    count = f"1 mistake: {found[0]}" if len(found) == 1 else f"{len(found)} mistakes"
    hint = f"Correct the file and check it with: {CHECKS[kind]}"
    return CampaignError(f"{kind} '{label}' has {count}", mistakes=found, hint=hint)


def read_toml_text(kind: str, label: str, hint: str) -> str:
    """Return the text of a file. Raises CampaignError where it is out of reach, too large or not UTF-8."""
    try:
        with Path(label).open("rb") as file:
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
        mistake = f"{label}:line {line}: is not UTF-8; expected a TOML file in UTF-8"
        raise refuse(kind, label, [mistake]) from error


def parse_toml(kind: str, label: str | Path, text: str) -> dict[str, Any]:
    """Return the tables of a file. Raises CampaignError with the line and column of what is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refuse(kind, label, [f"{label}:{_format_syntax_error(str(error), text)}"]) from error


def _format_syntax_error(message: str, text: str) -> str:
    found = re.search(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if found is None:
        return f"line 1: {message}; expected TOML"
    line = found.group(2) or str(text.count("\n") + 1)
    column = f", column {found.group(3)}" if found.group(3) else ""
    return f"line {line}{column}: {found.group(1)[:1].lower()}{found.group(1)[1:]}; expected TOML"


def format_finding(label: str | Path, finding: Finding) -> str:
    """Write a finding behind the name of its file: ``FILE:KEY: WHAT; expected ...``."""
    key, what = finding
    return f"{label}:{'.'.join(map(str, key))}: {what}"
