"""Joins ES modules into one classic script, so that a page loads one file and needs no build.

Modules may use these statements, each at the start of a line::

    import { name, other as alias } from "./file.js";
    export function name …   export async function name …   export const name …   export class name …

Every module keeps a scope of its own. It runs after those that it imports, so there are no circles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]*)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*|\bimport(?:\(|\.meta).*", re.MULTILINE)


class ModuleError(ValueError):
    """A module that cannot be joined: another kind of import or export, an unknown name, a circle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module of a script. ``imports``: for each module, the names that it imports and their names in it."""

    path: str
    imports: dict[str, dict[str, str]]
    exports: tuple[str, ...]
    body: str

    @property
    def name(self) -> str:
        """The file's name in camel case: ``figureCsv`` of ``core/figure_csv.js``."""
        first, *words = PurePosixPath(self.path).stem.split("_")
        return first + "".join(map(str.capitalize, words))


def join_modules(entry: str, read_text: Callable[[str], str], *, offered_as: str | None = None) -> str:
    """The module ``entry`` and all that it imports as one script.

    ``read_text`` reads a module by its path, such as ``page/main.js``. ``offered_as``: the global that holds
    what each module exports, by the module's name, for consoles and tests. Raises ModuleError.
    """
    modules = list_modules(entry, read_text)
    known = {module.path: module for module in modules}
    if len({module.name for module in modules}) < len(modules):
        raise ModuleError(f"two modules of {entry} have the same file name")
    parts = [_wrap(module, known) for module in modules]
    offer = [f"window.{offered_as} = modules;\n"] if offered_as else []
    return "".join(['(() => {\n"use strict";\nconst modules = {};\n', *offer, *parts, "})();\n"])


def list_modules(entry: str, read_text: Callable[[str], str]) -> list[Module]:
    """A module and all that it imports, each after those that it imports. Raises ModuleError."""
    done: dict[str, Module] = {}

    def visit(path: str, importers: tuple[str, ...]) -> None:
        if path in importers:
            circle = [*importers[importers.index(path) :], path]
            raise ModuleError("modules import each other: " + " → ".join(circle))
        if path in done:
            return
        module = parse_module(path, read_text(path))
        for imported in module.imports:
            visit(imported, (*importers, path))
        done[path] = module

    visit(entry, ())
    return list(done.values())


def parse_module(path: str, text: str) -> Module:
    """The parts of a module. Raises ModuleError."""
    imports: dict[str, dict[str, str]] = {}
    for names, file in _IMPORT.findall(text):
        taken = imports.setdefault(_resolve(path, file), {})
        taken.update(_split_name(part) for part in names.split(",") if part.strip())
    exports = tuple(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub("", text))
    if other := _OTHER.search(body):
        raise ModuleError(f"{path}: cannot join '{other[0]}'")
    return Module(path=path, imports=imports, exports=exports, body=body)


def _resolve(path: str, file: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(path).parent / file).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _split_name(part: str) -> tuple[str, str]:
    name, _, alias = part.strip().partition(" as ")
    return name, alias or name


def _wrap(module: Module, known: dict[str, Module]) -> str:
    """The module as a function that is called once and returns what it exports."""
    lines = []
    for path, names in module.imports.items():
        if unknown := names.keys() - set(known[path].exports):
            raise ModuleError(f"{module.path}: {path} does not export {_list(sorted(unknown))}")
        taken = (name if name == alias else f"{name}: {alias}" for name, alias in names.items())
        lines.append(f"const {{ {_list(taken)} }} = modules.{known[path].name};\n")
    start = f"// {module.path}\nmodules.{module.name} = (() => {{\n"
    return "".join([start, *lines, module.body, f"return {{ {_list(module.exports)} }};\n}})();\n"])


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
