"""Trials of one or several results on the same axes: what the explorer filters, groups and draws."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pathlab.analysis.estimators.cells import Floats
from pathlab.errors import UsageError
from pathlab.store.location import list_once
from pathlab.study.analyses import Analyses
from pathlab.study.exploration.column_list import list_explored_columns
from pathlab.study.exploration.columns import ExploredColumn, find_scale
from pathlab.study.exploration.source_piece import SourcePiece
from pathlab.study.exploration.source_reading import ExploredSource, SourceReader
from pathlab.study.exploration.unions import (
    Codes,
    Level,
    encode_numbers,
    join_flags,
    join_pieces,
    merge_categories,
)

#: Name of the column that says which of the results a trial is of.
RESULTS = "results"
Given = TypeVar("Given")
_TRIAL_NUMBER = re.compile("[0-9]{1,15}")


class ExploredResults:
    """The trials of one or several results as columns.

    Rows are trials: those of the first results in the order of their numbers, then those of the next; trials
    that ``refresh`` found come behind all others. Columns have values in the unit of ``ExploredColumn``.
    ``counted`` says which trials every figure rests on, by the rules of the report; ``reasons`` with
    ``reason_codes`` (-1: counted) why the others do not count.
    """

    sources: tuple[ExploredSource, ...]
    columns: tuple[ExploredColumn, ...]
    flags: tuple[str, ...]
    flag_bits: NDArray[np.uint64]
    counted: NDArray[np.bool_]
    reasons: tuple[str, ...]
    reason_codes: NDArray[np.int16]

    def __init__(self, readers: Sequence[SourceReader]) -> None:
        self._readers = tuple(readers)
        self._pieces: list[SourcePiece] = []
        for reader in self._readers:
            self._add(reader.read(alone=len(self._readers) == 1))
        self._arrange()

    @classmethod
    def open(cls, paths: Iterable[str | Path]) -> Self:
        """Open results folders, or the ``results.db`` inside one; the same results are opened once.

        Raises StoreError where one is missing, no PathLab file, or the only one and cannot be read; of
        several, those that cannot be read have no trials and a note that says why. Raises UsageError where
        none is given.
        """
        places = _require_some(list_once(Path(item) for item in paths))
        alone = len(places) == 1
        return cls([SourceReader.open(path, index, alone=alone) for index, path in enumerate(places)])

    @classmethod
    def of(cls, *studies: Analyses) -> Self:
        """The trials of results that are open already. Raises UsageError for none."""
        return cls([SourceReader.of(study, index) for index, study in enumerate(_require_some(studies))])

    def __len__(self) -> int:
        return len(self.counted)

    def column(self, name: str) -> ExploredColumn:
        """The column of that name. Raises KeyError where there is none."""
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def has_study(self, label: str) -> bool:
        """Whether the results of that label could be read."""
        return any(reader.source.label == label and reader.study is not None for reader in self._readers)

    def study(self, label: str) -> Analyses:
        """The analyses of one of the results, by its label. Raises UsageError where there is none."""
        known = {reader.source.label: reader.study for reader in self._readers if reader.study is not None}
        if label not in known:
            raise UsageError(f"there are no results '{label}'", hint=f"these are open: {', '.join(known)}")
        return known[label]

    def name_trial(self, row: int) -> str:
        """The trial of a row as ``A:12``: label of its results and number."""
        label = self.sources[self.codes(RESULTS)[row]].label
        return f"{label}:{int(self.numbers('trial')[row])}"

    def find_row(self, name: str) -> int:
        """The row of a trial by its name (``A:12``; ``12`` of the first results). Raises UsageError."""
        label, _, number = name.rpartition(":")
        labels = [source.label for source in self.sources]
        if _TRIAL_NUMBER.fullmatch(number) is None or (label or labels[0]) not in labels:
            raise UsageError(f"'{name}' names no trial", hint="give results and number, such as A:12")
        wanted = labels.index(label or labels[0])
        result = np.flatnonzero((self.codes(RESULTS) == wanted) & (self.numbers("trial") == float(number)))
        if not result.size:
            raise UsageError(f"there is no trial {number} in results {labels[wanted]}")
        return int(result[0])

    def numbers(self, name: str) -> Floats:
        """Values of a column of numbers or times in its unit; NaN: not measured. KeyError for others."""
        if name not in self._numbers:
            column = self._by_name[name]
            if not column.is_numeric:
                raise KeyError(f"'{name}' has no numbers")
            parts = [piece.get_numbers(name) for piece in self._pieces]
            values = _convert_unit(name, np.concatenate([np.empty(0), *parts]))
            values.setflags(write=False)
            self._numbers[name] = values
        return self._numbers[name]

    def codes(self, name: str) -> Codes:
        """For each trial the place of its level among ``levels``; -1: missing. Of any column but flags."""
        return self._encode(name)[0]

    def levels(self, name: str) -> tuple[Level, ...]:
        """The levels that trials have: numbers ascending, texts in natural order. Of any column but flags."""
        return self._encode(name)[1]

    def texts(self, name: str) -> NDArray[np.object_]:
        """The level of each trial of a category; None: missing."""
        codes, levels = self._encode(name)
        known: NDArray[np.object_] = np.array([*levels, None], dtype=object)
        return known[codes]

    def read_row(self, row: int) -> dict[str, Level]:
        """The values of one trial by column, in the columns' units; without flags and what was not measured.

        Takes as long however many trials there are.
        """
        before = 0
        for piece in self._pieces:
            if row < before + piece.size:
                return dict(self._list_values(piece.pick(row - before)))
            before += piece.size
        raise IndexError(row)

    def _list_values(self, trial: SourcePiece) -> Iterator[tuple[str, Level]]:
        for column in self.columns:
            if column.name == RESULTS:
                yield RESULTS, self.sources[trial.sources[0]].label
            elif column.is_numeric:
                value = float(_convert_unit(column.name, trial.get_numbers(column.name))[0])
                if not np.isnan(value):
                    yield column.name, value
            elif column.kind != "flags":
                known = trial.get_category(column.name)
                if known.codes[0] >= 0:
                    yield column.name, known.levels[known.codes[0]]

    def refresh(self) -> int:
        """Read the trials that were stored since; return how many. Rows that were there stay the same.

        Where results cannot be read now, their trials stay and a note of the source says why.
        """
        before = len(self)
        known = [(reader.source, reader.settings) for reader in self._readers]
        for reader in self._readers:
            self._add(reader.read(alone=False))
        if known != [(reader.source, reader.settings) for reader in self._readers]:
            self._arrange()
        return len(self) - before

    def _add(self, piece: SourcePiece | None) -> None:
        """Put trials behind the others; few pieces stay, each more than twice as large as the next."""
        if piece is None:
            return
        while self._pieces and self._pieces[-1].size <= 2 * piece.size:
            piece = join_pieces(self._pieces.pop(), piece)
        self._pieces.append(piece)

    def _arrange(self) -> None:
        """Columns, flags and reasons of all pieces."""
        self._numbers: dict[str, Floats] = {}
        self._encoded: dict[str, tuple[Codes, tuple[Level, ...]]] = {}
        self.sources = tuple(reader.source for reader in self._readers)
        settings = [reader.settings for reader in self._readers if reader.study is not None]
        self.columns = list_explored_columns(self._pieces, settings, len(self.sources))
        self._by_name = {column.name: column for column in self.columns}
        self.reasons, codes = merge_categories([piece.reasons for piece in self._pieces])
        self.reason_codes = codes.astype(np.int16)
        self.counted = self.reason_codes < 0
        self.flags, self.flag_bits = join_flags(self._pieces)

    def _encode(self, name: str) -> tuple[Codes, tuple[Level, ...]]:
        if name not in self._encoded:
            column = self._by_name[name]
            if column.kind == "flags":
                raise KeyError("flags have bits instead of codes")
            if name == RESULTS:
                sources = [piece.sources for piece in self._pieces]
                codes = np.concatenate([np.empty(0, dtype=np.int32), *sources])
                self._encoded[name] = codes, tuple(source.label for source in self.sources)
            elif column.is_numeric:
                self._encoded[name] = encode_numbers(self.numbers(name))
            else:
                levels, codes = merge_categories([piece.get_category(name) for piece in self._pieces])
                self._encoded[name] = codes, levels
        return self._encoded[name]


def _convert_unit(name: str, values: Floats) -> Floats:
    """Stored values of a column in the unit that it is shown in."""
    size = find_scale(name).size
    return values * round(1 / size) if size < 1 else values / size if size > 1 else values


def _require_some(given: Sequence[Given]) -> Sequence[Given]:
    if not given:
        raise UsageError("no results were given", hint="name one results folder or several")
    return given
