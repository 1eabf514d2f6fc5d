"""The lossless rate on a terminal: the answer first, tables that fit."""

from pathlib import Path

from pathlab.study.analyses import StudiedResults
from tests.builders.printed import print_summary
from tests.builders.searches import count_two_paths, write_search_results
from tests.golden.conftest import Say


def test_the_terminal_has_the_answer_first_and_no_cut(say: Say, tmp_path: Path) -> None:
    with StudiedResults.open(write_search_results(tmp_path, count_two_paths, cycles=1)) as results:
        for width in (60, 100):
            text = print_summary(results, width)
            assert max(map(len, text.splitlines())) <= width
            say(text)
