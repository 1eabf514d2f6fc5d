"""What a shell completes of values that name campaigns, their keys, and columns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from pathlab.cli.names import EXPLORED_COLUMNS, VIEW_KEYS, WHERE
from pathlab.errors import PathlabError
from pathlab.store.location import locate_database

#: Columns of the table of trials that are none of a view.
HIDDEN_COLUMNS = {"trial_id", "plan_row"}
#: Rows of a plan that are read for its factors.
PLAN_ROWS = 1000


def complete_override(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Of ``--set``: keys of factors, and after the key the levels of those that have names."""
    from pathlab.campaign.schema import build_json_schema  # takes half a second

    factors = build_json_schema()["$defs"]["Factors"]["properties"]
    key, equals, _ = incomplete.partition("=")
    if not equals:
        return [text for name in factors if (text := f"factors.{name}=").startswith(incomplete)]
    node = factors.get(key.removeprefix("factors."), {})
    names = next((item["enum"] for item in node.get("anyOf", ()) if "enum" in item), ())
    return [text for name in names if (text := f"{key}={name}").startswith(incomplete)]


def complete_campaign(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Campaigns that ship, TOML files here, and what else the shell finds where none of these fits."""
    from pathlab.campaign.campaign_text import list_shipped

    start = Path(incomplete)
    folder = start if incomplete.endswith("/") else start.parent
    below = "" if folder == Path() else f"{folder}/".replace("//", "/")
    with contextlib.suppress(OSError, ValueError):
        files = [f"{below}{file.name}" for file in sorted(folder.glob("*.toml"))]
        names = dict.fromkeys([*list_shipped(), *files])
        return [CompletionItem(incomplete, type="file"), *_keep(names, incomplete)]
    return [CompletionItem(incomplete, type="file")]


def complete_shipped(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Campaigns that ship."""
    from pathlab.campaign.campaign_text import list_shipped

    return list(_keep(list_shipped(), incomplete))


def complete_view_text(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Of ``view``: results folders, keys of a view, and after a key the names of columns.

    A shell that splits words at ``=`` (bash) gives what is before it as words of their own.
    """
    given = [str(item) for item in context.params.get(parameter.name or "") or ()]
    split = given[-2] if given[-1:] == ["="] else given[-1] if given and not incomplete else ""
    key = split.rpartition("&")[2]
    if key in VIEW_KEYS or key.startswith(WHERE):
        done, _, last = incomplete.rpartition(",")
        return list(_complete_columns(given, key, f"{done}," if done else "", last))
    parts, mark, last = incomplete.rpartition("&")
    key, equals, value = last.partition("=")
    if equals:
        done, _, value = value.rpartition(",")
        head = f"{parts}{mark}{key}={done + ',' if done else ''}"
        return list(_complete_columns(given, key, head, value))
    if last.startswith(WHERE):
        columns = list(_complete_columns(given, WHERE, f"{parts}{mark}{WHERE}", last.removeprefix(WHERE)))
        return [CompletionItem(f"{column.value}=") for column in columns]
    keys = _keep([f"{parts}{mark}{name}" for name in (*(f"{key}=" for key in VIEW_KEYS), WHERE)], incomplete)
    if mark:
        return list(keys)
    return [CompletionItem(incomplete, type="file"), *(keys if given else ())]


def _complete_columns(given: Sequence[str], key: str, head: str, value: str) -> Iterator[CompletionItem]:
    """The columns whose name begins so; none after a key that takes other values."""
    if key not in VIEW_KEYS and key != WHERE:
        return
    yield from _keep([f"{head}{name}" for name in list_column_names(given)], f"{head}{value}")


def _keep(names: Iterable[str], incomplete: str) -> Iterator[CompletionItem]:
    return (CompletionItem(name) for name in names if name.startswith(incomplete))


def list_column_names(places: Iterable[str]) -> list[str]:
    """Columns of trials, read from the results files as SQLite has them, and the factors of their plans."""
    import json
    import sqlite3

    result = dict.fromkeys(EXPLORED_COLUMNS)
    for place in places:
        with contextlib.suppress(sqlite3.Error, PathlabError, OSError, ValueError):
            file = locate_database(Path(place)).resolve()
            with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
                columns = database.execute("SELECT name FROM pragma_table_info('trial')").fetchall()
                rows = database.execute("SELECT settings FROM plan LIMIT ?", (PLAN_ROWS,)).fetchall()
            result |= dict.fromkeys(str(name) for (name,) in columns)
            result |= dict.fromkeys(name for (text,) in rows for name in json.loads(text))
    return sorted(result.keys() - HIDDEN_COLUMNS)
