"""The registry of analyses: what an entry says of an analysis, and the decorator that makes one.

An entry is a method of ``pathlab.study.analyses.Analyses``. From it follow the Python API, the tables and the
JSON of ``pathlab analyze``, the names that ``--only`` takes, and the table of docs/ANALYSES.md.
"""

from __future__ import annotations

import functools
import inspect
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from pathlab.errors import UsageError
from pathlab.quantities import find_unit
from pathlab.store.records import PlanRecord
from pathlab.study.base.answer import Answer, Answers, StudyOptions
from pathlab.study.base.cells import MeasuredCondition, list_conditions
from pathlab.study.base.trials import StudySource, TrialTable, is_searching, read_study_trials
from pathlab.table_columns import TableColumn

#: The end of a column's path that is the median of a spread.
MEDIAN = ".median"
Study = TypeVar("Study", bound="AnalysesBase")
Asked = ParamSpec("Asked")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class AnswerColumn(TableColumn):
    """One column of an analysis's table, with what of an answer is shown in it.

    ``source`` is a path in the answer's ``result`` (``capacity``, ``fits.0.weight_ratio``), ``selection.…``
    of the answer itself, ``part`` (the combination, window or quantity), or a function of the answer.
    ``unit`` is that of the figure; None: by the names in the path. ``detail`` is the path of what is shown in
    brackets behind it, such as the interval of a figure that does not hold its own.
    """

    source: str | Callable[[Answer[Any]], Any]
    unit: str | None = None
    detail: str | None = None

    def read(self, answer: Answer[Any]) -> Any:
        """The value of one answer; None where it was not measured, the answer itself for ``part``."""
        if callable(self.source):
            return self.source(answer)
        return answer if self.source == "part" else _follow(answer, self.source)

    def read_detail(self, answer: Answer[Any]) -> Any:
        """What is shown in brackets."""
        return None if self.detail is None else _follow(answer, self.detail)

    def read_bound(self, answer: Answer[Any]) -> float | None:
        """What a median that is not known is above, ns; None where that is not known either."""
        if callable(self.source) or not self.source.endswith(MEDIAN):
            return None
        above_ns = getattr(_follow(answer, self.source.removesuffix(MEDIAN)), "above_ns", None)
        return None if above_ns is None else float(above_ns)

    def find_unit(self, answer: Answer[Any]) -> str:
        """The unit of the value; that of the answer's quantity for the unit ``quantity``."""
        if self.unit not in (None, "quantity"):
            return str(self.unit)
        names = str(answer.quantity if self.unit else self.source).split(".")
        units = (find_unit(name) for name in reversed(names))
        return next((unit.name for unit in units if unit is not None and unit.format is not None), "")


#: The column with the reason why a result is undecided; empty where it is decided.
UNDECIDED = AnswerColumn("undecided", "undecided", wraps=True)


def _follow(answer: Answer[Any], path: str) -> Any:
    """What a path leads to; None where a part of it is None or an index beyond the end."""
    value: Any = answer if path.startswith("selection.") else answer.result
    for name in path.split("."):
        if value is None:
            return None
        if name.isdecimal():
            value = value[int(name)] if int(name) < len(value) else None
        else:
            value = getattr(value, name)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisEntry:
    """One analysis: ``per`` is what it has an answer for, ``draws`` its number among those that draw.

    ``name`` is that of the ``method`` unless another was given, ``description`` its docstring in one line.

    The number keeps the random draws of different analyses apart and is never given to another (1: retired);
    None: it draws nothing and takes no seed.
    """

    name: str
    method: str
    title: str
    description: str
    per: str
    columns: tuple[AnswerColumn, ...]
    draws: int | None = None

    def __call__(self, study: AnalysesBase) -> Answers[Any]:
        """The answers over these trials, with the method's defaults."""
        answers: Answers[Any] = operator.methodcaller(self.method)(study)
        return answers


_entries: dict[str, AnalysisEntry] = {}
_found: dict[str, AnalysisEntry] = {}  # of the class whose body is being read
#: Every analysis by its name: the entries of a class, then those that it inherits, in the order of its bases.
ANALYSES: Mapping[str, AnalysisEntry] = MappingProxyType(_entries)


class AnalysesBase(ABC):
    """The trials that analyses read, once, and the answers computed so far."""

    study_options = StudyOptions()
    _own_entries: Mapping[str, AnalysisEntry] = MappingProxyType({})
    _table: TrialTable | None = None
    _plan: Sequence[PlanRecord] | None = None
    _conditions: tuple[MeasuredCondition, ...] | None = None
    _answered: dict[tuple[Any, ...], Answers[Any]] | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._own_entries = dict(_found)
        _found.clear()
        others = dict(_entries)
        _entries.clear()
        for part in cls.__mro__:
            _entries.update(vars(part).get("_own_entries", {}))
        for name, entry in others.items():
            _entries.setdefault(name, entry)

    @property
    @abstractmethod
    def study_source(self) -> StudySource:
        """What trials and series are read from."""

    def reread(self) -> None:
        """Forget the trials read so far, so that the next analysis sees those stored since."""
        self._table = self._plan = self._conditions = self._answered = None

    @property
    def answered(self) -> dict[tuple[Any, ...], Answers[Any]]:
        """The answers computed so far, by name and arguments of the analysis."""
        if self._answered is None:
            self._answered = {}
        return self._answered

    def study_table(self) -> TrialTable:
        """All trials with their conditions, read once."""
        if self._table is None:
            self._table = read_study_trials(self.study_source, self.study_plan())
        return self._table

    def study_plan(self) -> Sequence[PlanRecord]:
        """The plan in its order, read once."""
        if self._plan is None:
            self._plan = self.study_source.plan()
        return self._plan

    def conditions(self) -> tuple[MeasuredCondition, ...]:
        """Every condition with its trials by cell, in the order of first measurement; no control rows.

        None of searches for the lossless rate, whose rates are steps towards one answer (``lossless_rate``).
        """
        campaign = self.study_source.campaign
        if self._conditions is None and is_searching(campaign.model):
            self._conditions = ()
        if self._conditions is None:
            self._conditions = list_conditions(self.study_table(), campaign.environment)
        return self._conditions

    def _generator(self, name: str) -> np.random.Generator:
        """The generator of one analysis: the same results give the same answers, alone or among others."""
        seed = self.study_options.seed
        chosen = self.study_source.campaign.seed if seed is None else seed
        return np.random.default_rng([chosen % 2**63, ANALYSES[name].draws or 0])


def analysis(
    title: str,
    *columns: AnswerColumn,
    per: str = "combination",
    draws: int | None = None,
    name: str | None = None,
) -> Callable[
    [Callable[Concatenate[Study, Asked], Iterable[Answer[Result]]]],
    Callable[Concatenate[Study, Asked], Answers[Result]],
]:
    """Make a method an entry of the registry: its answers are computed once for each set of arguments."""

    def register(
        method: Callable[Concatenate[Study, Asked], Iterable[Answer[Result]]],
    ) -> Callable[Concatenate[Study, Asked], Answers[Result]]:
        known, signature = name or method.__name__, inspect.signature(method)
        described = " ".join((inspect.getdoc(method) or "").split())
        _found[known] = AnalysisEntry(
            name=known,
            method=method.__name__,
            title=title,
            description=described,
            per=per,
            columns=columns,
            draws=draws,
        )

        @functools.wraps(method)
        def run(study: Study, /, *args: Asked.args, **kwargs: Asked.kwargs) -> Answers[Result]:
            bound = signature.bind(study, *args, **kwargs)
            bound.apply_defaults()
            key = (known, *list(bound.arguments.values())[1:])
            if not all(isinstance(item, Hashable) for item in key):
                return Answers(method(study, *args, **kwargs))
            if key not in study.answered:
                study.answered[key] = Answers(method(study, *args, **kwargs))
            answers: Answers[Result] = study.answered[key]
            return answers

        return run

    return register


def choose_analyses(names: Iterable[str]) -> tuple[str, ...]:
    """The names in the registry's order, all of them for none; UsageError for an unknown one."""
    wanted = dict.fromkeys(names)
    for name in wanted:
        if name not in ANALYSES:
            raise UsageError(f"there is no analysis '{name}'", hint=f"choose one of: {', '.join(ANALYSES)}")
    return tuple(name for name in ANALYSES if not wanted or name in wanted)
