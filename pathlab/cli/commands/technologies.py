"""``pathlab technologies``."""

from __future__ import annotations

from pathlab.cli.commands.checks import check_hosts
from pathlab.cli.commands.declaration import ACCEPT_KEYS, HOSTS_FILE, argument, declare, json_flag

command = declare(
    "technologies",
    "technologies.list_states",
    """List the technologies whose round trips can be measured, and what hosts lack for them.

    A HOST is `local`, a host of hosts.toml, or [user@]host[:port] as for ssh. Without any it is this
    machine, or every host of the file named. A technology of your own is one file in
    ~/.config/pathlab/adapters or in a folder that $PATHLAB_ADAPTERS names.
    Exit status 3 only where no host could be asked.
    """,
    argument("hosts", nargs=-1, metavar="[HOST]..."),
    HOSTS_FILE,
    ACCEPT_KEYS,
    json_flag(
        "Print one JSON object per technology and host; `kind` is technology, failure (of a host) or "
        "fault (of a file)."
    ),
    checks=(check_hosts,),
)
