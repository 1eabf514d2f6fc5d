"""Commands that draw a figure print its path last, on stderr beside JSON."""

from pathlib import Path

import pytest

from tests.command_line import call


@pytest.mark.parametrize(
    "command",
    [("lab", "show", "lan"), ("path", "local", "--no-capacity", "--method", "udp", "--flows", "1")],
    ids=["lab", "path"],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_the_path_of_a_figure_is_printed(
    command: tuple[str, ...], as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = tmp_path / "drawn.svg"
    options = ["--figure", str(figure), *(["--json"] if as_json else [])]
    said = call([*command, *options], capsys)
    assert said.status == 0, said.err
    assert figure.read_text(encoding="utf-8").startswith("<?xml")
    printed, silent = (said.err, said.out) if as_json else (said.out, said.err)
    assert printed.splitlines()[-1] == str(figure)
    assert str(figure) not in silent
