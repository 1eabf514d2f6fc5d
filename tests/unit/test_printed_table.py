"""Printed tables: whole columns are left out, and no digit, unit or name is cut at any width."""

import io
import re

import pytest
from rich.console import Console

from pathlab.printed_table import PrintedParagraph, PrintedTable, wrap_words
from pathlab.table_columns import TableColumn

COLUMNS = (
    TableColumn("Combination", left=True),
    TableColumn("Granted", priority=3, constant="Granted {}"),
    TableColumn("Throughput"),
    TableColumn("Retransmitted segments", priority=2),
    TableColumn("Loss", priority=4),
    TableColumn("Jitter", priority=1),
    TableColumn("Remarks", priority=1, wraps=True),
)
ROWS = (
    ("4 × 64 KiB", "128 KiB", "38.6 Mbit/s", "0", "0.12 %", "–", "lab-limited in 2 trials, over-line-rate"),
    ("16 × 256 KiB", "128 KiB", "9.25 Mbit/s", "1234", "0 %", "", ""),
)


def render(
    width: int, rows: tuple[tuple[str, ...], ...] = ROWS, title: str = "", elsewhere: str = ""
) -> list[str]:
    screen = io.StringIO()
    table = PrintedTable(columns=COLUMNS, rows=rows, title=title, elsewhere=elsewhere)
    table.print_to(Console(file=screen, width=width, color_system=None))
    return screen.getvalue().splitlines()


def test_what_all_rows_share_stands_above_and_empty_columns_are_left_out() -> None:
    assert render(200, title="a → b") == [
        "a → b: Granted 128 KiB",
        "Combination    Throughput  Retransmitted segments    Loss  Remarks",
        "4 × 64 KiB    38.6 Mbit/s                       0  0.12 %  lab-limited in 2 trials, over-line-rate",
        "16 × 256 KiB  9.25 Mbit/s                    1234     0 %",
    ]


def test_the_columns_of_least_priority_go_and_are_named() -> None:
    assert render(45, elsewhere="--json") == [
        "Granted 128 KiB",
        "Combination    Throughput  Remarks",
        "4 × 64 KiB    38.6 Mbit/s  lab-limited in",
        "                           2 trials,",
        "                           over-line-rate",
        "16 × 256 KiB  9.25 Mbit/s",
        "Not shown in 45 columns: Retransmitted",
        "segments, Loss (wider terminal, pipe,",
        "--json).",
    ]


def test_a_long_heading_folds_before_a_column_goes() -> None:
    assert render(74)[1:3] == [
        "                           Retransmitted",
        "Combination    Throughput       segments    Loss  Remarks",
    ]


@pytest.mark.parametrize("width", range(1, 130))
def test_every_number_that_is_shown_is_whole(width: int) -> None:
    lines = render(width)
    text = "\n".join(lines)
    assert "…" not in text
    for value in ("38.6 Mbit/s", "9.25 Mbit/s", "16 × 256 KiB", "128 KiB"):
        assert value in text
    if width >= len("Retransmitted segments  16 × 256 KiB"):
        assert max(map(len, lines)) <= width
    known = set(re.findall(r"[\d.]+", " ".join(word for row in ROWS for word in row))) | {str(width)}
    assert set(re.findall(r"\d[\d.]*", text.replace(").", ")"))) <= known


def test_rows_are_stacked_where_not_even_the_first_columns_fit() -> None:
    lines = render(20)
    assert "Throughput              38.6 Mbit/s" in lines
    assert lines.count("") == 1


def test_one_row_keeps_its_columns() -> None:
    assert render(200, ROWS[:1])[0].split()[:2] == ["Combination", "Granted"]


def test_foreign_text_keeps_to_its_cell() -> None:
    lines = render(200, (("a\nb\x1b[31m", *ROWS[0][1:]), ROWS[1]))
    assert lines[2].startswith(r"a b\u001b[31m")


def test_a_number_stays_on_a_line_with_its_unit() -> None:
    words = "carries 38.6 Mbit/s with 4 × 64 KiB at 12 %"
    assert wrap_words(words, 12) == ["carries", "38.6 Mbit/s", "with", "4 × 64 KiB", "at 12 %"]
    assert wrap_words("", 10) == []


def test_a_paragraph_continues_below_its_beginning() -> None:
    screen = io.StringIO()
    paragraph = PrintedParagraph("one two three four", mark="• ")
    Console(file=screen, width=14, color_system=None).print(paragraph)
    assert screen.getvalue().splitlines() == ["• one two", "  three four"]
