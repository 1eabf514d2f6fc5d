"""The ``[factors]`` table: what is varied, and single combinations of it (``[[rows]]``, ``[control]``).

The keys of both follow from the table of factors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model

from pathlab.campaign.factor import Factor, Level
from pathlab.campaign.factors import FACTORS
from pathlab.campaign.file_table import FileTable
from pathlab.campaign.levels import Levels
from pathlab.campaign.quantities import COUNT, Bounds


def _list_field(factor: Factor) -> tuple[Any, Any]:
    """Type and default of a factor's levels: None where a campaign does not have it."""
    generic: Any = Levels
    levels, description = generic[factor.level_type], factor.description
    if not factor.always:
        return levels | None, Field(None, alias=factor.key, description=description)
    if factor.unset is not None:
        return levels, Field((None,), alias=factor.key, description=description)
    needed = f"{description} Needed, here or in every one of `[[rows]]`."
    return levels, Field(alias=factor.key, description=needed)


def _level_field(factor: Factor) -> tuple[Any, Any]:
    """Type and default of one level."""
    field = Field(factor.default, alias=factor.key, description=factor.description)
    return (factor.level_type if factor.default is not None else factor.level_type | None), field


if TYPE_CHECKING:
    _LevelsTable = FileTable
    _CombinationTable = FileTable
else:
    _LevelsTable = create_model(
        "_LevelsTable", __base__=FileTable, **{name: _list_field(factor) for name, factor in FACTORS.items()}
    )
    _CombinationTable = create_model(
        "_CombinationTable",
        __base__=FileTable,
        **{name: _level_field(factor) for name, factor in FACTORS.items()},
    )


class Factors(_LevelsTable):
    """What is varied: every combination of the levels is one cell, measured once per cycle and path."""

    @property
    def given(self) -> tuple[str, ...]:
        """The factors that this campaign has, by attribute."""
        return tuple(name for name in FACTORS if getattr(self, name) is not None)

    def levels(self, name: str) -> tuple[Level, ...]:
        """The levels of a factor, by attribute; none where the campaign does not have it."""
        levels: tuple[Level, ...] | None = getattr(self, name)
        return levels or ()


class Combination(_CombinationTable):
    """Keys of `[factors]`, each with one level; what is left out is as there."""


class Control(Combination):
    """A combination, as in `[[rows]]`, repeated at fixed places of the plan, on one path after the other."""

    every_rows: Annotated[int, Bounds(COUNT, 2, 100_000)] = Field(
        alias="every", description="Rows of the plan from one control row to the next."
    )
