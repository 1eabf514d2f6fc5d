"""Columns of a table: empty ones are left out, constant ones are said once."""

from pathlab.report.base.tables import build_table
from pathlab.table_columns import list_table_columns

COLUMNS = ("Window", "Streams", "granted", "jitter", "loss", "undecided")
ROWS = (
    ("64 KiB", "1", "128 KiB", "–", "0 %", ""),
    ("64 KiB", "2", "128 KiB", "–", "–", ""),
    ("64 KiB", "4", "128 KiB", "–", "1 %", ""),
)


def test_a_value_that_one_row_lacks_is_not_the_same_in_every_row() -> None:
    table = build_table(
        "loss", "Loss", list_table_columns(("Window", "loss")), (("64 KiB", "0 %"), ("1 MiB", "–"))
    )
    assert table.rows == (("64 KiB", "0 %"), ("1 MiB", "–"))
    assert table.note is None


def test_a_single_row_and_columns_to_keep_stay_whole() -> None:
    single = build_table("one", "One", list_table_columns(COLUMNS), ROWS[:1])
    assert [one.heading for one in single.narrow().columns] == ["Window", "Streams", "granted", "loss"]
    assert build_table("kept", "Kept", list_table_columns(COLUMNS, stay=True), ROWS).rows == ROWS
