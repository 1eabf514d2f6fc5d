"""What all tables of a campaign file share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

HOST_NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
MIB = 1024**2

HostName = Annotated[str, Field(pattern=HOST_NAME_PATTERN)]
Seed = Annotated[int, Field(strict=True, ge=0, le=2**53 - 1)]


class Added:
    """Marks a key that older programs did not know.

    At its default it is left out of what is stored, so that a campaign that does not use it keeps its digest
    and an unfinished run of it can be continued.
    """


class Part(BaseModel):
    """What all tables of a campaign file share: frozen, and an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_serializer(mode="wrap")
    def _leave_out_unused(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        for name, field in type(self).model_fields.items():
            added = any(isinstance(item, Added) for item in field.metadata)
            if added and getattr(self, name) == field.get_default(call_default_factory=True):
                written.pop(name, None)
        return written
