"""Manifests of technologies: the JSON in the first comment of an adapter's file, as CONTRACT.md describes it.

The controller and the host read the same files with this module. Standard library, Python 3.8.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple

CONTRACT = 1
FOLDERS_VARIABLE = "PATHLAB_ADAPTERS"
LANGUAGES = ("c", "c++", "python", "java", "pipe")
COMPILERS = ("cc", "c++", "javac", "omniidl")
#: Other levels of the factor engine, and our engine's transports, by which readers know its round trips.
RESERVED = ("native", "iperf3", "technologies")
TRANSPORTS = ("tcp", "mptcp", "udp", "unix", "unix-datagram", "pipe", "shared-memory", "eventfd")
NEEDS = ("program", "header", "module", "class")
BUILD_WORDS = ("source", "harness", "program", "folder")
SERVER_WORDS = ("source", "address", "port", "folder", "config", "scope")
MAX_FILE_BYTES = 256 * 1024

_FIRST_LINES = 10  # the manifest is the file's first comment; a line or two may precede it
_COMMENT = re.compile(r"\s*(?:\*+(?!/)|//+|#+|--|;+|%+)?\s?")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class ManifestError(ValueError):
    """An adapter's file whose manifest is refused; the text names the file and the key."""


@dataclass(frozen=True)
class Manifest:
    """One technology: the keys of CONTRACT.md, and ``file``, ``source`` (its whole text) and ``variant``.

    ``variant`` is None for the technology that the file describes, else the name under ``variants``.
    """

    file: str
    source: str
    variant: Optional[str]
    contract: int
    name: str
    title: str
    language: str
    beneath: str
    baseline: Optional[str]
    adds: Tuple[str, ...]
    lacks: Tuple[str, ...]
    needs: Tuple[Mapping[str, str], ...]
    build: Tuple[Tuple[str, ...], ...]
    files: Mapping[str, str]
    server: Optional[Tuple[str, ...]]
    prepare: Tuple[Tuple[str, ...], ...]
    config: Tuple[str, ...]
    responder: bool
    port: str
    protocol: str
    versions: Tuple[Tuple[str, ...], ...]
    client: Tuple[str, ...]
    benchmark: Optional[str]
    limits: Tuple[Mapping[str, str], ...]


def list_user_folders(environment: Mapping[str, str]) -> List[str]:
    """Folders of the user's own adapters, whether they exist or not."""
    folders = [folder for folder in environment.get(FOLDERS_VARIABLE, "").split(":") if folder]
    base = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(environment.get("HOME", ""), ".config")
    return folders + ([os.path.join(base, "pathlab", "adapters")] if os.path.isabs(base) else [])


def read_manifests(folders: Iterable[Any], faults: Optional[List[str]] = None) -> Dict[str, Manifest]:
    """The technologies of all adapter files directly in ``folders``, by name, sorted.

    A folder is a path or a ``zipfile.Path``; one that does not exist is empty. ManifestError for a broken
    file and a name that occurs twice; with ``faults`` its text is added there, and the file is left out.
    """
    result: Dict[str, Manifest] = {}
    for path in list_adapter_files(folders):
        try:
            for manifest in read_manifest_file(str(path), _read_text(path)):
                first = result.setdefault(manifest.name, manifest)
                if first is not manifest:
                    raise ManifestError(f"{path}: the name '{manifest.name}' is taken by {first.file}")
        except ManifestError as error:
            if faults is None:
                raise
            faults.append(str(error))
    return dict(sorted(result.items()))


def list_adapter_files(folders: Iterable[Any]) -> List[Any]:
    """Paths of the files in ``folders`` that hold a manifest, whatever is in it."""
    listed = [
        path
        for folder in folders
        if folder.is_dir()
        for path in sorted(folder.iterdir(), key=lambda item: str(item.name))
    ]
    return [path for path in listed if path.is_file() and _has_manifest(path)]


def _has_manifest(path: Any) -> bool:
    is_page = str(path.name).endswith(".md")  # whose examples are no technologies
    return not is_page and _find_start(_read_text(path).splitlines()) is not None


def _read_text(path: Any) -> str:
    """A file's text, of a large one the start; one that is no UTF-8, or cannot be read, holds no manifest."""
    try:
        if isinstance(path, zipfile.Path):  # its ``open`` is another in Python 3.8
            return str(path.read_bytes()[: MAX_FILE_BYTES + 1].decode("utf-8"))
        with open(path, "rb") as file:
            return file.read(MAX_FILE_BYTES + 1).decode("utf-8")
    except (OSError, ValueError):
        return ""


def read_manifest_file(name: str, text: str) -> List[Manifest]:
    """The technology of an adapter's file, then its variants. ManifestError names the file and the key."""
    if len(text) > MAX_FILE_BYTES:
        raise ManifestError(f"{name}: an adapter's file has at most {MAX_FILE_BYTES} bytes")
    table = _parse_json(name, text)
    variants = table.pop("variants", {})
    if not isinstance(variants, dict):
        raise ManifestError(f"{name}: key 'variants' must be an object of technologies by name")
    manifests = [_build_manifest(name, text, table, None)]
    for variant, changes in variants.items():
        if not isinstance(changes, dict):
            raise ManifestError(f"{name}: variant '{variant}' must be an object of keys")
        for key in sorted({"contract", "name", "variants", "language"} & set(changes)):
            raise ManifestError(f"{name}: variant '{variant}': key '{key}' cannot be changed")
        manifests.append(_build_manifest(name, text, {**table, **changes, "name": variant}, variant))
    return manifests


def _find_start(lines: List[str]) -> Optional[int]:
    for number, line in enumerate(lines[:_FIRST_LINES]):
        if line.rstrip().endswith("pathlab-adapter"):
            return number
    return None


def _parse_json(name: str, text: str) -> Dict[str, Any]:
    """The manifest's object. ManifestError where there is none, or no JSON, with its line in the file."""
    lines = text.splitlines()
    start = _find_start(lines)
    if start is None:
        where = f"among the first {_FIRST_LINES} lines"
        raise ManifestError(f"{name}: no line {where} ends in 'pathlab-adapter'")
    body: List[str] = []
    for line in lines[start + 1 :]:
        bare = _COMMENT.sub("", line, count=1)
        if re.fullmatch(r"end\s*(\*/|\"\"\"|''')?\s*", bare):
            break
        body.append(bare)
    else:
        raise ManifestError(f"{name}: the manifest has no last line 'end'")
    try:
        table = json.loads("\n".join(body), object_pairs_hook=_check_unique_keys)
    except json.JSONDecodeError as error:
        raise ManifestError(f"{name}: line {start + 1 + error.lineno} is not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{name}: the manifest is not JSON: {error}") from error
    if not isinstance(table, dict):
        raise ManifestError(f"{name}: the manifest is not a JSON object")
    return table


def _check_unique_keys(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    names = [name for name, _value in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"key '{name}' occurs twice")
    return dict(pairs)


def _build_manifest(file: str, source: str, table: Mapping[str, Any], variant: Optional[str]) -> Manifest:
    if table.get("contract", CONTRACT) != CONTRACT:
        theirs = f"contract {str(table['contract'])[:20]}"
        raise ManifestError(
            f"{file}: key 'contract': it is written for {theirs}, this PathLab has {CONTRACT}"
        )
    for key in table:
        if key not in _KEYS:
            raise ManifestError(f"{file}: unknown key '{str(key)[:40]}'")
    values: Dict[str, Any] = {}
    for key, (check, default) in _KEYS.items():
        if key not in table and default is _REQUIRED:
            raise ManifestError(f"{file}: key '{key}' is missing")
        try:
            values[key] = check(table[key]) if key in table else default
        except ValueError as error:
            of = "" if variant is None else f"variant '{str(variant)[:40]}': "
            raise ManifestError(f"{file}: {of}key '{key}' {error}") from error
    manifest = Manifest(file=file, source=source, variant=variant, **values)
    fault = _find_contradiction(manifest)
    if fault is not None:
        raise ManifestError(f"{file}: {fault}")
    return manifest


def _find_contradiction(manifest: Manifest) -> Optional[str]:
    """What a manifest's keys, each right by itself, cannot mean together; None if nothing."""
    built = manifest.language in ("c", "c++", "java")
    if built != bool(manifest.build):
        return f"key 'build' is {'needed for' if built else 'not used by'} language '{manifest.language}'"
    if (manifest.language == "pipe") != bool(manifest.client):
        return "key 'client' belongs to language 'pipe', which needs it"
    if manifest.language == "pipe" and (manifest.server is None or manifest.responder):
        return "language 'pipe' needs 'server', and has no responder"
    if manifest.server is None:
        for key in ("prepare", "config", "responder"):
            if getattr(manifest, key):
                return f"key '{key}' needs a 'server'"
    return None


def _one_of(*allowed: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return str(value)

    return check


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be a text that is not empty")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value) or value in RESERVED + TRANSPORTS:
        taken = ", ".join(RESERVED + TRANSPORTS)
        raise ValueError(f"must be a name of up to 31 lower-case letters, digits and '-', none of {taken}")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("must be an integer")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _optional(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else check(value)


def _list_of(check: Callable[[Any], Any]) -> Callable[[Any], Tuple[Any, ...]]:
    def check_all(value: Any) -> Tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("must be a list")
        return tuple(check(item) for item in value)

    return check_all


def _words(*placeholders: str) -> Callable[[Any], Tuple[str, ...]]:
    """A command: a list of texts, the first one a program."""

    def check(value: Any) -> Tuple[str, ...]:
        words = _list_of(_line(*placeholders))(value)
        if not words or not words[0]:
            raise ValueError("must be a list of words that begins with a program")
        return words

    return check


def _line(*placeholders: str) -> Callable[[Any], str]:
    """A text, maybe empty, whose ``{word}`` are placeholders that are filled in."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or "\0" in value:
            raise ValueError("must be made of texts")
        for word in _PLACEHOLDER.findall(value):
            if word not in placeholders:
                known = ", ".join(f"{{{name}}}" for name in placeholders)
                raise ValueError(f"has the placeholder {{{word}}}; known here: {known}")
        return value

    return check


def _build_words(value: Any) -> Tuple[str, ...]:
    words = _words(*BUILD_WORDS)(value)
    if words[0] not in COMPILERS:
        raise ValueError(f"may call {', '.join(COMPILERS)}, not '{words[0][:40]}'")
    return words


def _need(value: Any) -> Mapping[str, str]:
    kinds = [kind for kind in NEEDS if isinstance(value, dict) and kind in value]
    if len(kinds) != 1 or set(value) - {*NEEDS, "debian", "pip"}:
        raise ValueError(f"must hold objects with one of {', '.join(NEEDS)}, and maybe debian and pip")
    return {key: _text(text) for key, text in value.items()}


def _files(value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError("must be an object of texts by file name")
    for name in value:
        if not _FILE_NAME.fullmatch(name):
            raise ValueError(
                f"names the file '{name[:40]}': letters, digits, '.', '_' and '-' only, no folder"
            )
    return dict(value)


def _limit(value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict) or set(value) != {"what", "constraint"}:
        raise ValueError("must hold objects with what and constraint")
    return {key: _text(text) for key, text in value.items()}


_REQUIRED = object()
#: Keys of a manifest: what they may hold, and their value where they are left out.
_KEYS: Dict[str, Tuple[Callable[[Any], Any], Any]] = {
    "contract": (_integer, _REQUIRED),
    "name": (_name, _REQUIRED),
    "title": (_text, _REQUIRED),
    "language": (_one_of(*LANGUAGES), _REQUIRED),
    "beneath": (_one_of("tcp", "udp"), _REQUIRED),
    "baseline": (_optional(_name), None),
    "adds": (_list_of(_text), ()),
    "lacks": (_list_of(_text), ()),
    "needs": (_list_of(_need), ()),
    "build": (_list_of(_build_words), ()),
    "files": (_files, {}),
    "server": (_optional(_words(*SERVER_WORDS)), None),
    "prepare": (_list_of(_words(*SERVER_WORDS)), ()),
    "config": (_list_of(_line(*SERVER_WORDS)), ()),
    "responder": (_truth, False),
    "port": (_one_of("given", "own"), "given"),
    "protocol": (_one_of("tcp", "udp"), "tcp"),
    "versions": (_list_of(_words()), ()),
    "client": (_words(*SERVER_WORDS), ()),
    "benchmark": (_optional(_text), None),
    "limits": (_list_of(_limit), ()),
}
