"""A published table beside own results: level by level, with what is known of either."""

from dataclasses import replace

import pytest

from pathlab.analysis.estimators.interval import Undecided
from pathlab.errors import UsageError
from pathlab.reference.series import ReferenceTable, load_table
from pathlab.store.records import TrialRecord
from pathlab.study.analyses import Study
from pathlab.study.comparison.references import fit_columns
from tests.builders.results import BareResults, join_results, study
from tests.builders.sweeps import make_sweep

NAME, COLUMN = "ibm-streams-2.0-internode", "tcp_gbps"
LEVELS = (4, 64, 100)  # the last one was not published


def make_messages(cycles: int, *flags: str) -> Study:
    """Messages of three sizes, each carried at twice the published rate, or at 1 Gbit/s."""
    table = load_table(NAME)
    published = dict(zip(table.columns["message_bytes"], table.columns[COLUMN], strict=True))
    parts = []
    for level in LEVELS:

        def change(record: TrialRecord, level: int = level) -> TrialRecord:
            rate = 2e9 * published.get(level, 0.5) * (1 + 0.01 * (record.cycle - cycles // 2))
            return replace(record, throughput_bits_per_s=rate, flags=(*record.flags, *flags))

        parts.append(
            make_sweep(cycles, levels=[(1, 65536)], change=change, settings={"message_bytes": level})
        )
    return Study(join_results(parts))


def test_levels_of_both_sides_are_aligned() -> None:
    (answer,) = make_messages(7).against_reference(NAME, COLUMN)
    found = answer.result
    assert (answer.streams, answer.window_bytes, answer.quantity) == (1, 65536, COLUMN)
    assert (found.reference, found.level_name, found.matched) == (NAME, "message_bytes", 2)
    rows = {row.level: row for row in found.rows}
    assert list(rows) == sorted({*load_table(NAME).columns["message_bytes"], *map(float, LEVELS)})
    both = rows[4]
    assert both.own.n == 7
    assert both.own.median == pytest.approx(0.12e9)
    assert both.reference_bits_per_s == pytest.approx(0.06e9)
    assert both.ratio == pytest.approx(2.0)
    # 0.06 was printed: anything from 0.055 to 0.065
    own = both.own.interval
    assert (own.low, own.high) == pytest.approx((0.97 * 0.12e9, 1.03 * 0.12e9))  # the extremes of seven
    assert own.cut
    assert both.ratio_interval.cut
    assert both.ratio_interval.limits == pytest.approx((own.limits[0] / 0.065e9, own.limits[1] / 0.055e9))
    assert both.ratio_interval.low == pytest.approx((own.low or 0.0) / 0.065e9)
    assert both.ratio_interval.high == pytest.approx((own.high or 0.0) / 0.055e9)
    assert (rows[8].own, rows[8].ratio, rows[8].ratio_interval.undecided) == (
        None,
        None,
        Undecided.NO_SAMPLES,
    )
    assert rows[100].own is not None
    assert (rows[100].reference_bits_per_s, rows[100].ratio) == (None, None)
    assert found.step_bits_per_s == pytest.approx(1e7)


def test_few_cycles_have_a_ratio_without_an_interval() -> None:
    (answer,) = make_messages(5).against_reference(NAME, COLUMN)
    row = next(row for row in answer.result.rows if row.level == 64)
    assert row.ratio == pytest.approx(2.0)
    assert (row.ratio_interval.low, row.ratio_interval.undecided) == (None, Undecided.TOO_FEW_SAMPLES)


def test_every_column_without_one_named_and_host_limited_trials_are_said() -> None:
    answers = make_messages(2, "host-limited").against_reference(NAME)
    assert [answer.quantity for answer in answers] == list(load_table(NAME).rates)
    assert [(one.reason, one.trials) for one in answers[0].selection.warnings] == [
        ("lab", 6),
        ("host-limited", 6),
    ]
    assert make_messages(2, "lab-limited").against_reference(NAME) == ()


def test_results_that_do_not_vary_the_level_have_no_answer() -> None:
    assert study(make_sweep(2)).against_reference(NAME) == ()
    assert study(BareResults()).against_reference(NAME) == ()
    assert make_messages(2).against_reference("ibm-streams-2.0-fan-out-intranode") == ()  # by receivers


def test_unknown_names_are_refused() -> None:
    for name, column in (("ibm", None), (NAME, "message_bytes"), (NAME, "udp_gbps")):
        with pytest.raises(UsageError) as caught:
            study(BareResults()).against_reference(name, column)
        assert caught.value.hint


def test_columns_by_message_size_are_fitted_and_others_are_not() -> None:
    """Messages that take 500 ns each and their bytes at 1 Gbit/s."""
    sizes = (64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0)
    rates = tuple(8 * size / (500 + 8 * size) for size in sizes)
    table = ReferenceTable(name="made", columns={"message_bytes": sizes, "tcp_gbps": rates}, steps={})
    (fit,) = fit_columns(table).values()
    assert fit.message_ns == pytest.approx(500)
    assert fit.rate_bits_per_s == pytest.approx(1e9)
    assert fit_columns(replace(table, columns={"receivers": (1.0, 2.0), "tcp_gbps": (1.0, 1.0)})) == {}
