"""``pathlab campaigns list|show|new|schema``."""

from __future__ import annotations

from pathlib import Path

import click

from pathlab.cli.commands.completions import complete_shipped
from pathlab.cli.commands.declaration import argument, declare, group, json_flag

command = group(
    "campaigns",
    "List, show and write campaign files.",
    declare(
        "list",
        "campaigns.list_campaigns",
        "Show the campaigns that ship with PathLab, and the time they take.",
    ),
    declare(
        "show",
        "campaigns.show",
        "Print the file of a shipped campaign, to read it or to change a copy: NAME > mine.toml.",
        argument("name", shell_complete=complete_shipped),
    ),
    declare(
        "new",
        "campaigns.new",
        """Ask a few questions and write a commented campaign file. An existing FILE is not touched.

        Answers may come from a pipe, one a line; an empty line takes the default in brackets.
        """,
        argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False),
    ),
    declare(
        "schema",
        "campaigns.schema",
        "Print what every key of a campaign file means.",
        json_flag("The JSON Schema, for editors."),
    ),
)
