"""What all tables of a campaign file share."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from pathlab.host_names import HOST_NAME_PATTERN, find_address_fault

HOST_NAME_EXPECTED = "a name of letters, digits, '.', '_' and '-'"
MIB = 1024**2

HostName = Annotated[
    str, Field(pattern=HOST_NAME_PATTERN, json_schema_extra={"$comment": HOST_NAME_EXPECTED})
]


def _read_address(value: Any) -> str:
    try:
        address = str(ipaddress.ip_address(value if isinstance(value, str) else ""))
    except ValueError as error:
        text = f"'{value}' is not a numeric address; expected IPv4 or IPv6 such as \"192.0.2.7\""
        raise PydanticCustomError("address", "{text}", {"text": text}) from error
    if ":" in address and find_address_fault(address) is not None:
        text = f"'{value}' is a link-local address; expected one with its interface, such as fe80::1%eth0"
        raise PydanticCustomError("address", "{text}", {"text": text})
    return address


Address = Annotated[str, BeforeValidator(_read_address)]
Seed = Annotated[int, Field(strict=True, ge=0, le=2**53 - 1)]


class FileTable(BaseModel):
    """A table of a campaign file: frozen, and an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")
