"""Which columns the trials of some results have, in the order of lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pathlab.campaign.factors import FACTORS, format_level
from pathlab.study.exploration.columns import (
    ALWAYS_FACTORS,
    CONTROL,
    HOSTS,
    IDENTITY,
    LOG_RATIO,
    ExploredColumn,
    Kind,
    describe_column,
    leaves_to_system,
    list_stored_conditions,
    list_stored_measures,
)
from pathlab.study.exploration.source_piece import PlannedSettings, SourcePiece, format_setting_level
from pathlab.study.measures import MEASURES, Use, list_measures

_TIMES = ("started_utc",)
_CODE_NAMES = ("results", "flags")


def list_explored_columns(
    pieces: Sequence[SourcePiece], settings: Sequence[PlannedSettings], sources: int
) -> tuple[ExploredColumn, ...]:
    """Identity, factors, conditions and measures, each that a trial or a plan has a value of.

    ``sources``: how many results are open.
    """
    lister = _Lister(pieces, settings)
    return (
        *(lister.describe_identity(name, sources) for name in IDENTITY),
        *lister.list_factors(),
        *lister.list_conditions(),
        *lister.list_measures(),
    )


class _Lister:
    def __init__(self, pieces: Sequence[SourcePiece], settings: Sequence[PlannedSettings]) -> None:
        self.pieces, self.settings = pieces, settings
        self.factors = {*ALWAYS_FACTORS, *(name for setting in settings for name in setting.names)} - {
            CONTROL
        }

    def describe_identity(self, name: str, sources: int) -> ExploredColumn:
        if name == "results":
            return describe_column(name, "identity", "category", levels=sources)
        if name == "flags":
            return describe_column(name, "identity", "flags", levels=len(self._find_flags()))
        kind: Kind = "time" if name in _TIMES else "number" if name in ("trial", "cycle") else "category"
        levels = 0 if kind == "time" or name == "trial" else len(self._find_levels(name))
        return describe_column(name, "identity", kind, levels=levels)

    def list_factors(self) -> Iterator[ExploredColumn]:
        """In the order of a plan, hosts' names last."""
        order = {name: index for index, name in enumerate(FACTORS)}
        for name in sorted(self.factors, key=lambda item: (order.get(item, len(order)), item)):
            kind = self._find_kind(name)
            levels = self._find_levels(name) | self._find_planned(name, kind)
            numbers = [level for level in levels if isinstance(level, float)]
            unset = format_level(name, None) if self._leaves_to_system(name) else None
            column = describe_column(
                name, "factor", kind, levels=len(levels), log_suggested=_suggests_log(numbers), unset=unset
            )
            if kind == "number" and leaves_to_system(column) and self._is_left_out(name):
                column = replace(column, level_count=column.level_count + 1)
            yield column
        for name in HOSTS:
            yield describe_column(name, "factor", "category", levels=len(self._find_levels(name)))

    def list_conditions(self) -> Iterator[ExploredColumn]:
        named = ("medium", CONTROL, "kernel", "cpu_model", *list_stored_conditions())
        for name in named:
            levels = self._find_levels(name)
            if levels and name not in self.factors:
                kind = self._find_kind(name)
                yield describe_column(name, "condition", kind, levels=len(levels))

    def list_measures(self) -> Iterator[ExploredColumn]:
        main = [measure.key for measure in list_measures("main")]
        derived = [item.key for item in MEASURES if item.is_derived]
        expected = self._expect_measures()
        for name in dict.fromkeys((*main, *list_stored_measures(), *derived)):
            extents = [extent for piece in self.pieces if (extent := piece.find_extent(name)) is not None]
            if (extents or name in expected) and name not in self.factors:
                suggested = _suggests_log([end for extent in extents for end in extent])
                yield describe_column(name, "measured", "number", log_suggested=suggested)

    def _expect_measures(self) -> set[str]:
        """Those of a plan whose trials are not all there, so that a view does not wait for its first one."""
        expected: set[str] = set()
        stored = sum(piece.size for piece in self.pieces)
        for setting in (
            self.settings if sum(len(setting.places) for setting in self.settings) > stored else ()
        ):
            for settings in setting.distinct:
                expected.update(measure.key for measure in list_measures(_find_use(settings)))
        return expected

    def _find_kind(self, name: str) -> Kind:
        """Numbers where every part has numbers, or nothing."""
        categories = any(
            name in piece.categories and bool(piece.categories[name].levels) for piece in self.pieces
        )
        numbers = any(name in piece.numbers for piece in self.pieces)
        named = [setting for setting in self.settings if name in setting.names]
        texts = any(not item.is_numeric(name) for item in named)
        return "number" if (numbers or (named and not texts)) and not categories and not texts else "category"

    def _find_levels(self, name: str) -> set[Any]:
        return {level for piece in self.pieces for level in piece.find_levels(name)}

    def _find_planned(self, name: str, kind: Kind) -> set[Any]:
        levels = [level for setting in self.settings for level in setting.list_levels(name)]
        if kind == "number":
            return {float(item) for item in levels if item is not None}
        return {format_setting_level(name, item) for item in levels}

    def _leaves_to_system(self, name: str) -> bool:
        """Whether a plan leaves the setting to the system in one of its rows, or in all of them."""
        levels = [level for setting in self.settings for level in setting.list_levels(name)]
        return None in levels or not levels

    def _is_left_out(self, name: str) -> bool:
        """Whether rows of a plan that has the setting leave it to the system."""
        return any(None in setting.list_levels(name) for setting in self.settings if name in setting.names)

    def _find_flags(self) -> set[str]:
        return {str(name) for piece in self.pieces for name in piece.flags}


def _suggests_log(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) >= LOG_RATIO * min(values)


def _find_use(settings: Mapping[str, Any]) -> Use:
    """What a row of a plan carries."""
    if settings.get("message_bytes") is not None:
        return "messages"
    return "datagrams" if settings.get("transport") == "udp" else "flows"
