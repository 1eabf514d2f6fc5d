"""Cycles that are needed: the search, and reasons."""

from pathlab.analysis.planning.cycles import cycles_to_decide
from tests.statistics.noise import draw_pilot


def test_more_cycles_fall_as_cycles_come_in() -> None:
    counts = [cycles_to_decide(draw_pilot(0.2, n=n, mean=0.04)) for n in (10, 40, 100)]
    assert counts == [counts[0], counts[0] - 30, counts[0] - 90]
    # A mean inside the margin heads for equivalence, one outside for a winner; each may be the quicker.
    assert cycles_to_decide(draw_pilot(0.1, mean=0.3)) == 1
    near, far = cycles_to_decide(draw_pilot(0.3, mean=0.0)), cycles_to_decide(draw_pilot(0.3, mean=0.15))
    assert far < near
