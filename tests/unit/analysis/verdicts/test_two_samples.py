"""Two groups: reasons, halves, and groups that are all equal."""

import pytest

from pathlab.analysis.verdicts.two_samples import split_halves


def test_split_halves() -> None:
    assert split_halves([1.0, 1.0, 2.0, 2.0]) == pytest.approx(2)
    assert split_halves([2.0, 2.0, 1.0, 1.0]) == pytest.approx(2)
    assert split_halves([1.0, 2.0, 1.0, 2.0]) == pytest.approx(1)
    assert split_halves([3.0] * 4) == 1
    assert split_halves([1.0, 2.0, 3.0]) is None
    assert split_halves([0.0, 1.0, 2.0, 3.0]) is None
