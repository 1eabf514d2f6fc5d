"""``pathlab reference list|show NAME``."""

from __future__ import annotations

from pathlab.cli.commands.checks import check_reference
from pathlab.cli.commands.declaration import argument, declare, group, json_flag

command = group(
    "reference",
    "Show the published series that come with PathLab, to compare own results with.",
    declare("list", "reference.list_references", "List the published tables by name."),
    declare(
        "show",
        "reference.show",
        "Print the published table NAME and, by message size, the fit t(m) = a + m / r.",
        argument("name"),
        json_flag("Print table and fits as JSON."),
        checks=(check_reference,),
    ),
)
