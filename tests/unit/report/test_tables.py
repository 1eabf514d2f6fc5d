"""Columns of a table: empty ones are left out, constant ones are said once."""

from pathlab.report.tables import build_table

COLUMNS = ("Window", "Streams", "granted", "jitter", "loss", "undecided")
MEANINGS = ("requested", "connections", "by the kernel", "RFC 3550", "of all probes")
ROWS = (
    ("64 KiB", "1", "128 KiB", "–", "0 %", ""),
    ("64 KiB", "2", "128 KiB", "–", "–", ""),
    ("64 KiB", "4", "128 KiB", "–", "1 %", ""),
)


def test_a_column_without_a_value_is_left_out_and_a_constant_one_is_said_once() -> None:
    whole = build_table("grants", "Granted", COLUMNS, ROWS, meanings=MEANINGS, note="As reported.")
    assert [one.label for one in whole.headings] == list(COLUMNS)
    assert (whole.rows, whole.shown) == (ROWS, (0, 1, 4))  # programs get every column
    table = whole.narrow()
    assert [one.meaning for one in table.headings] == ["requested", "connections", "of all probes"]
    assert table.rows == (("64 KiB", "1", "0 %"), ("64 KiB", "2", "–"), ("64 KiB", "4", "1 %"))
    assert table.numeric == (False, True, True)
    assert table.constants == (("granted", "128 KiB"),)
    assert (table.note or "").endswith("granted 128 KiB. As reported.")
    assert table.narrow() == table


def test_a_value_that_one_row_lacks_is_not_the_same_in_every_row() -> None:
    table = build_table("loss", "Loss", ("Window", "loss"), (("64 KiB", "0 %"), ("1 MiB", "–")))
    assert table.rows == (("64 KiB", "0 %"), ("1 MiB", "–"))
    assert table.note is None


def test_a_single_row_and_columns_to_keep_stay_whole() -> None:
    single = build_table("one", "One", COLUMNS, ROWS[:1])
    assert [one.label for one in single.narrow().headings] == ["Window", "Streams", "granted", "loss"]
    assert build_table("kept", "Kept", COLUMNS, ROWS, keep=COLUMNS).rows == ROWS
