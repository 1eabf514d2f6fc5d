"""What a factor is: something that a campaign can vary, with the type of its levels."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pathlab.campaign.native_option import NativeOption
from pathlab.campaign.quantities import Bounds, Name, Unit

Level = int | str | bool | None


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its attribute, the type of one level, and what it is for.

    A level that is left to the system is None; the type knows the word for it. ``default`` is the level
    where a campaign does not have the factor; durations are then those of ``[trial]``.
    """

    name: str  # attribute, and setting of a stored plan row; with the unit
    level: Any  # Bounds, Name, or a type of pydantic
    description: str
    default: Level = None
    always: bool = False  # every campaign has it, given or not
    native: NativeOption | None = None
    file_key: str | None = None  # where it is not the name without its unit

    @property
    def key(self) -> str:
        """What a campaign file calls it."""
        return self.file_key or re.sub("_(bytes|ns|bits_per_s|per_s)$", "", self.name)

    @property
    def unit(self) -> Unit | None:
        """Of numbers, which may be given as a range."""
        return self.level.unit if isinstance(self.level, Bounds) else None

    @property
    def unset(self) -> str | None:
        """The word for a level that is left to the system; None where every level is a value."""
        return self.level.unset if isinstance(self.level, (Bounds, Name)) else None

    @property
    def level_type(self) -> Any:
        """The pydantic type of one level."""
        if isinstance(self.level, Bounds):
            return Annotated[int | None, self.level]
        return Annotated[str | None, self.level] if isinstance(self.level, Name) else self.level
