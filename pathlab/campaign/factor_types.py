"""The types of levels that are words: what a campaign file may say, and what a cell holds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

#: The type of a level that is true or false.
SWITCH = Annotated[bool, Field(strict=True)]
Transport = Literal["tcp", "mptcp", "udp", "unix", "unix-datagram", "pipe", "shared-memory", "eventfd"]
Encoding = Literal["fixed", "protobuf"]
Placement = Literal["host", "process", "threaded", "fused"]
Wait = Literal["block", "poll"]
Direction = Literal["forward", "reverse", "both"]
Family = Literal["any", "ipv4", "ipv6"]
Build = Literal["this", "again", "against"]
Recording = Literal["off", "default", "full"]
PacingBy = Literal["auto", "kernel", "user", "txtime"]
Background = Literal["none", "cpu", "disk", "network", "combined"]

PairName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,30}$",
        json_schema_extra={"$comment": "a name of small letters, digits, '_' and '-'"},
    ),
]
