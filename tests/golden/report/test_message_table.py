"""Messages on a terminal: one table for each path, whose rows say what varies."""

from __future__ import annotations

from dataclasses import replace

from tests.golden.conftest import Say
from tests.unit.report.test_message_table import make_rates
from tests.unit.report.test_text import print_summary


def test_rates_are_one_table_of_a_path_with_what_varies(say: Say) -> None:
    lines = print_summary(make_rates(2))
    say(lines)
    start = next(number for number, line in enumerate(lines) if line.split()[:2] == ["Size", "Combination"])
    rows = [line.split("  ") for line in lines[start + 1 : start + 9]]
    found = [[part.strip() for part in row if part] for row in rows]
    assert [(size, name, n) for size, name, *_, n in found] == [
        (size, f"tcp, {place}{batch}", f"2{mark}")
        for size in ("64 B", "1 KiB")
        for place, mark in (("one host", ""), ("two hosts", "*"))
        for batch in ("", ", batch 64 KiB")
    ]


def test_a_warning_names_what_its_combinations_share(say: Say) -> None:
    lines = " ".join(print_summary(make_rates(2), width=300))
    say(lines)


def test_a_warning_on_unlike_combinations_names_some_or_counts_them(say: Say) -> None:
    def warn(*numbers: int) -> str:
        results = make_rates(1)
        results.records = [
            replace(record, flags=("over-line-rate",) if record.plan_row in numbers else ())
            for record in results.records
        ]
        return " ".join(print_summary(results, width=300))

    # rows 0 to 7: two hosts, unbatched and batched, then one host; each with 64 B and 1 KiB
    say(warn(0))
    unlike = "! With message 64 B, batch none, placement host; message 1 KiB, batch 64 KiB, placement process"
    assert unlike in warn(0, 7)
    say(warn(0, 1, 2, 4, 7))


def test_an_interval_is_shown_where_there_are_trials_for_it(say: Say) -> None:
    assert "95 % CI" not in "".join(print_summary(make_rates(2)))
    lines = print_summary(make_rates(8), width=140)
    (heading,) = [line for line in lines if line.split()[:2] == ["Size", "Combination"]]
    say(heading)
    assert all("–" not in line for line in lines if "two hosts" in line)  # provisional


def test_of_many_sizes_some_are_shown(say: Say) -> None:
    lines = print_summary(make_rates(1, sizes=tuple(2**power for power in range(4, 14))), width=120)
    sizes = [line.split("  ")[0].strip() for line in lines if "host" in line and "batch" not in line]
    shown = [line for line in lines if "tcp, " in line]
    assert len(shown) <= 25
    assert "16 B" in "".join(shown)
    assert "8 KiB" in "".join(shown)
    assert sizes
    say(lines)
