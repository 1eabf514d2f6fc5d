"""Several links together: verdicts, the collapse on unequal links, and what is left out."""

from __future__ import annotations

from tests.golden.conftest import Say
from tests.unit.study.test_multipath import study


def test_links_alone_are_those_with_the_default_where_a_bond_has_other_levels(say: Say) -> None:
    answers = study(reordering=(3, 127)).multipath()
    names = {answer.result.name for answer in answers}
    say(names)
    assert all(answer.result.gain is not None for answer in answers)
