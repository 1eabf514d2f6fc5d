"""What the store accepts of a trial, every reader reads: records and series drawn at random."""

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pathlab.errors import UsageError
from pathlab.store.check import check_results
from pathlab.store.records import HostRecord, JournalRecord, TrialRecord
from pathlab.store.results import Results
from pathlab.store.schema import column_types
from pathlab.store.series_columns import SERIES_KINDS, find_series_kind
from tests.builders.series import make_intervals, make_probes
from tests.builders.stored import CAMPAIGN, COMPLETE, PLAN, make_results
from tests.command_line import call
from tests.length import choose_runs

READERS = (
    "results show bad",
    "report bad --quiet --format html --out report.html",
    "analyze bad --json",
    "export bad --format csv --out csv",
    "export bad --format openmetrics --out metrics",
    "export bad --format flent --out flent",
    "view bad --output view.csv",
    "results merge good bad --out merged",
)
KEYS = ("plan_row", "attempt", "status", "cycle")
NUMBERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from((-1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63)),
    st.floats(),
    st.floats(0, 1e12),
)
TEXTS = st.one_of(
    st.text(st.characters(), max_size=20), st.sampled_from(("", "\ud800", "a\x00b", "2026-13-45"))
)
FLAGS = st.lists(TEXTS, max_size=3).map(tuple)
VALUES = {int: NUMBERS, float: NUMBERS, str: TEXTS, tuple: FLAGS}
LIKELY = {
    int: st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 9)),
    float: st.floats(0, allow_infinity=False, allow_nan=False),
    str: st.text("abc-2026:T", max_size=8),
    tuple: st.lists(st.text("abc", max_size=3), max_size=3).map(tuple),
}
JSON = st.recursive(
    st.one_of(NUMBERS, TEXTS), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=5
)


@st.composite
def draw_trial(draw: st.DrawFn) -> TrialRecord:
    """A trial of which a few columns hold anything of about their type."""
    types = column_types(TrialRecord)
    names = draw(
        st.lists(st.sampled_from([name for name in types if name not in KEYS]), min_size=1, max_size=5)
    )
    changes = {
        name: draw(st.one_of(*[LIKELY[types[name].base]] * 3, VALUES[types[name].base], JSON))
        for name in names
    }
    return dataclasses.replace(COMPLETE, **changes)


@st.composite
def draw_series(draw: st.DrawFn) -> dict[str, pa.Table]:
    """One series of any kind, with columns of about their types, some of them left out or replaced."""
    kind = draw(st.sampled_from(SERIES_KINDS))
    rows = draw(st.integers(0, 3))
    columns: dict[str, Any] = {}
    for field in find_series_kind(kind).schema:
        if draw(st.integers(0, 9)):
            of_type = {pa.int64(): st.integers(0, 2**63 - 1), pa.float64(): st.floats(), pa.string(): TEXTS}
            values = of_type.get(field.type, st.none())
            small = st.integers(0, 3) if field.type == pa.int64() else values
            column = draw(st.lists(st.one_of(*[small] * 8, values, st.none()), min_size=rows, max_size=rows))
            try:
                columns[field.name] = pa.array(column, field.type if draw(st.integers(0, 19)) else None)
            except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError):
                columns[field.name] = pa.nulls(rows, field.type)
    sound = {"receiver_intervals": make_intervals(2, 3), "loaded_probes": make_probes()}
    return {**sound, kind: pa.table(columns)}


def read_everything(folder: Path, capsys: pytest.CaptureFixture[str], commands: Sequence[str]) -> None:
    assert check_results(folder).faults == ()
    for command in commands:
        said = call(command.split(), capsys)
        assert said.status == 0, f"{command}\n{said.err}"


def test_what_is_accepted_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "bad"
    taken = {True: 0, False: 0}
    examples = choose_runs(600, short=150)
    plan = [dataclasses.replace(PLAN[0], row=number, cycle=number) for number in range(examples + 1)]
    with make_results(tmp_path / "good") as good:
        good.add_trial(COMPLETE, {})
    with Results.create(folder, CAMPAIGN, plan) as results:

        @settings(max_examples=examples)
        @given(draw_trial(), draw_series())
        def store(trial: TrialRecord, series: dict[str, pa.Table]) -> None:
            row = taken[True]
            planned = dataclasses.replace(trial, plan_row=row, cycle=row, attempt=1)
            try:
                number = results.add_trial(planned, series)
            except UsageError:
                taken[False] += 1
                return
            taken[True] += 1
            assert results.record(number).plan_row == row
            for kind in results.series_kinds(number):
                assert results.series_table(number, kind).num_rows == series[kind].num_rows

        store()
    assert min(taken.values()) > 9, taken
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, on figures that no path has
        read_everything(folder, capsys, READERS)


def test_facts_and_events_are_read_again_or_refused(tmp_path: Path) -> None:
    at_utc = "2026-01-05T12:00:00+00:00"
    with make_results(tmp_path) as results:

        @settings(max_examples=choose_runs(200, short=60))
        @given(JSON, TEXTS)
        def store(facts: Any, text: str) -> None:
            host = HostRecord(name=text, recorded_utc=at_utc, facts={"nics": facts})
            entry = JournalRecord(recorded_utc=at_utc, kind="x", plan_row=None, text=text, facts=host.facts)
            try:
                results.add_host(host)
                results.add_journal(entry)
            except UsageError:
                return
            assert (results.hosts()[-1].name, results.journal()[-1].text) == (text, text)

        store()
        deep: Any = 0
        for _ in range(200):
            deep = {"x": deep}
        with pytest.raises(UsageError, match="column 'facts' of HostRecord is nested too deeply"):
            results.add_host(HostRecord(name="a", recorded_utc=at_utc, facts=deep))
    assert check_results(tmp_path).faults == ()
