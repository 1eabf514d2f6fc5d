"""What is wrong in the text of a view: one line, with the nearest name where there is one."""

import pytest

from pathlab.errors import UsageError
from pathlab.study.exploration.view_text import parse_view
from tests.builders.views import make_hard_results
from tests.golden.conftest import Say

TEXTS = {
    "keys": ("streems=1", "collour=streams", "text", "text=a&text=b"),
    "columns": (
        *("x=stream", "where.windows=1", "y=status", "y=trial,cycle,streams,attempt,drtt_ns"),
        "colour=flags",
    ),
    "levels": (
        *("where.streams=3", "where.streams=two", "where.status=complet", "where.flags=lab-limit"),
        *("baseline=9&colour=streams", "colour=none&baseline=A"),
    ),
    "numbers": (
        *("where.cycle=a..2", "where.cycle=3..2", "where.started_utc=2026..", "min-x=nan", "max-y=1e999"),
    ),
    "choices": ("stat=medain", "stat=p100", "dots=yes", "series=rtt"),
    "trials": ("trial=A:99999", "trial=Z:1", "trial=A:\N{ARABIC-INDIC DIGIT ONE}"),
    "encoding": ("text=100%", "text=%ff", "text=\udcff"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_what_is_unknown_is_one_line_with_the_nearest_name(kind: str, say: Say) -> None:
    for text in TEXTS[kind]:
        with pytest.raises(UsageError) as caught:
            parse_view(text, make_hard_results())
        assert "\n" not in caught.value.message
        say(caught.value)
