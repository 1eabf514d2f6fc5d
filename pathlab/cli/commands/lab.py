"""``pathlab lab list|up|exec|change|show|down``."""

from __future__ import annotations

import click

from pathlab.cli.commands.checks import check_figure
from pathlab.cli.commands.declaration import PATH, argument, declare, flag, group, json_flag, option

_NAME = option("--name", help="Name of the lab, where several are up.")

command = group(
    "lab",
    "Make WANs out of network namespaces and emulated links on this machine, and work in them.",
    declare("list", "lab.list_labs", "Show the ready-made labs, and which labs are up."),
    declare(
        "up",
        "lab.up",
        """Make the lab TOPOLOGY: a ready-made one, or the table [lab] of a TOML file.

        It stays up until `pathlab lab down`.
        """,
        argument("topology"),
        option("--name", help="Name of the lab; default: that of the topology."),
        option(
            "--backend", type=click.Choice(["auto", "netem", "tun", "packet"]), help="How links are emulated."
        ),
    ),
    declare(
        "exec",
        "lab.execute",
        "Run COMMAND on HOST of the lab; `pathlab lab exec a -- ping -c 3 198.18.0.2`.",
        _NAME,
        argument("host"),
        argument("argv", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND..."),
        context_settings={"ignore_unknown_options": True},
    ),
    declare(
        "change",
        "lab.change",
        """Change a link while it runs; `pathlab lab change a b rate=10Mbit/s loss=1%`.

        Only the direction from FROM to TO changes, unless --both. Keys are those of a link in a file;
        KEY=none removes one. Packets already on the link keep their time.
        """,
        _NAME,
        flag("--both", help="Change the other direction as well."),
        option(
            "--link",
            "place",
            type=click.IntRange(min=1),
            default=1,
            help="Which of several links between the two.",
        ),
        argument("start", metavar="FROM"),
        argument("end", metavar="TO"),
        argument("changes", nargs=-1, required=True, metavar="KEY=VALUE..."),
    ),
    declare(
        "show",
        "lab.show",
        "Draw the lab that is up with its counters, or TOPOLOGY (ready-made, or a file) as planned.",
        argument("topology", required=False),
        _NAME,
        json_flag("Print the lab and its counters as JSON."),
        option("--figure", type=PATH, help="Draw it into a file (.svg, .png, .pdf) as well."),
        checks=(check_figure,),
    ),
    declare("down", "lab.down", "End the lab and everything that runs in it.", _NAME),
)
