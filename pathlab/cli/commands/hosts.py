"""``pathlab hosts check``."""

from __future__ import annotations

from pathlab.cli.commands.checks import check_hosts
from pathlab.cli.commands.completions import complete_campaign
from pathlab.cli.commands.declaration import (
    ACCEPT_KEYS,
    HOSTS_FILE,
    argument,
    declare,
    flag,
    group,
    json_flag,
    option,
)

command = group(
    "hosts",
    "Check hosts before measuring with them.",
    declare(
        "check",
        "hosts.check",
        """Try what hosts can do, alone and in pairs in both directions, and say how to fix the rest.

        A HOST is `local`, a host of hosts.toml, or [user@]host[:port] as for ssh. Without any, all hosts
        of the file or of the campaign are checked. Exit status 3 when something that measuring needs fails.
        """,
        argument("hosts", nargs=-1, metavar="[HOST]..."),
        HOSTS_FILE,
        option(
            "--campaign",
            shell_complete=complete_campaign,
            help="Check the hosts and paths of this campaign.",
        ),
        flag("--no-pairs", help="Check each host by itself only."),
        ACCEPT_KEYS,
        json_flag("Print one JSON object per check."),
        checks=(check_hosts,),
    ),
)
