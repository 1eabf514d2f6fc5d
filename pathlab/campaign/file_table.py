"""What all tables of a campaign file share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

HOST_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
HOST_NAME_EXPECTED = "a name of letters, digits, '.', '_' and '-'"
MIB = 1024**2

HostName = Annotated[
    str, Field(pattern=HOST_NAME_PATTERN, json_schema_extra={"$comment": HOST_NAME_EXPECTED})
]
Seed = Annotated[int, Field(strict=True, ge=0, le=2**53 - 1)]


class FileTable(BaseModel):
    """A table of a campaign file: frozen, and an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")
