"""Writes docs/cli/: a Markdown page for each subcommand, from the commands and docs/cli/examples.toml.
The table of exit statuses in README.md is written as well.


Run it after a change: ``python tools/cli_pages.py``. Site and manual pages are made from these pages.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from pathlab.cli.main import SUBCOMMANDS, pathlab
from pathlab.errors import ExitStatus

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "cli"
README = FOLDER.parents[1] / "README.md"
Examples = Mapping[str, list[list[str]]]


def read_examples() -> Examples:
    """Command lines and what each is for, by the name of the subcommand."""
    text = (FOLDER / "examples.toml").read_text(encoding="utf-8")
    return {name: table["examples"] for name, table in tomllib.loads(text).items()}


def make_pages() -> dict[str, str]:
    """Every page's text by its file's name."""
    top = click.Context(pathlab, info_name="pathlab", **pathlab.context_settings)
    examples = read_examples()
    pages = {"index.md": "\n".join(_format_index(top, examples)).rstrip() + "\n"}
    for name in pathlab.list_commands(top):
        command = pathlab.get_command(top, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=top)
        pages[f"{name}.md"] = "\n".join(_format_page(context, examples.get(name, []))) + "\n"
    return pages


def _format_index(top: click.Context, examples: Examples) -> Iterator[str]:
    yield from _format_head(top)
    yield from ("## Commands", "")
    for name, text in SUBCOMMANDS.items():
        yield from (f"[pathlab {name}]({name}.md)", f": {_escape(text)}", "")
    yield from _format_examples(examples.get("pathlab", []))
    yield from ("## Exit status", "")
    for status in ExitStatus:
        yield from (f"{status:d}", f": {_escape(status.meaning)}", "")


def write_statuses(readme: str) -> str:
    """The text of README.md with the table of exit statuses of this version."""
    head, title, rest = readme.partition("## Exit statuses\n\n")
    _, end, tail = rest.partition("\n\n")
    rows = (f"| {status:d} | {status.meaning} |" for status in ExitStatus)
    return head + title + "\n".join(("| status | meaning |", "|---|---|", *rows)) + end + tail


def _format_page(context: click.Context, examples: list[list[str]]) -> Iterator[str]:
    yield from _format_head(context)
    if isinstance(context.command, click.Group):
        yield from ("## Commands", "")
        for name in sorted(context.command.commands):
            below = click.Context(context.command.commands[name], info_name=name, parent=context)
            yield from (f"### {below.command_path}", "", *_format_usage(below), *_format_help(below))
            yield from _format_options(below)
    yield from _format_examples(examples)
    yield from ("## Exit status", "", "The same for all commands: see [pathlab(1)](index.md).")


def _format_head(context: click.Context) -> Iterator[str]:
    yield from (f"# {context.command_path}", "", "## Synopsis", "", *_format_usage(context))
    yield from ("## Description", "", *_format_help(context))
    yield from ("## Options", "", *_format_options(context))


def _format_usage(context: click.Context) -> Iterator[str]:
    pieces = context.command.collect_usage_pieces(context)
    yield from ("```text", " ".join([context.command_path, *pieces]), "```", "")


def _format_help(context: click.Context) -> Iterator[str]:
    text = inspect.cleandoc(context.command.help or "")  # Python 3.13 and later did so already
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("\b"):  # click keeps the lines of such a paragraph
            yield from ("```text", *paragraph.splitlines()[1:], "```", "")
        else:
            yield from (_escape(_join(paragraph)), "")


def _format_options(context: click.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:  # arguments have no text: the description names them
            yield from (f"`{record[0]}`", f": {_escape(_join(record[1]))}", "")


def _format_examples(examples: list[list[str]]) -> Iterator[str]:
    if examples:
        yield from ("## Examples", "")
    for line, meaning in examples:
        yield from (f"`{line}`", f": {_escape(meaning)}", "")


def _join(text: str) -> str:
    return " ".join(text.replace("\b", " ").split())


def _escape(text: str) -> str:
    """Markdown's signs, where they are not in code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([*<_\[])", r"\\\1", piece) for piece in pieces
    )


def main() -> None:
    """Write every page and the table in README.md, and remove pages of commands that are gone."""
    pages = make_pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    README.write_text(write_statuses(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
