"""The console of all subcommands: how wide its lines are."""

import pytest

from pathlab.cli.console import UNLIMITED_WIDTH, WIDTH_MIN, TerminalConsole


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ("120", 120),
        (str(WIDTH_MIN), WIDTH_MIN),
        (str(WIDTH_MIN - 1), UNLIMITED_WIDTH),
        ("1", UNLIMITED_WIDTH),
        ("0", UNLIMITED_WIDTH),
        ("-80", UNLIMITED_WIDTH),
        ("²", UNLIMITED_WIDTH),
        ("9" * 5000, UNLIMITED_WIDTH),
        ("", UNLIMITED_WIDTH),
    ],
)
def test_a_width_that_no_line_can_have_is_ignored(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert TerminalConsole().width == width


def test_a_pipe_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert TerminalConsole().width == UNLIMITED_WIDTH
