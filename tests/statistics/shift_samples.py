"""Shifts with a given estimate and error."""

from pathlab.analysis.estimators.interval import IntervalBuilder
from pathlab.analysis.estimators.shifts import Shift


def make_shift(estimate: float, error: float, freedom: int) -> Shift:
    builder = IntervalBuilder(n=freedom + 1, method="test")
    interval = builder.build_student(estimate, error, freedom)
    return Shift(n=freedom + 1, shift=estimate, interval=interval, standard_error=error, freedom=freedom)
