"""Estimates that are kept: a report asks for those of the same samples many times."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

#: Estimates of one kind that are kept at most; all are given up for the next one.
KEPT = 8192
Samples = TypeVar("Samples")
Options = ParamSpec("Options")
Estimate = TypeVar("Estimate")


def estimate_once(
    estimate: Callable[Concatenate[Samples, Options], Estimate],
) -> Callable[Concatenate[Samples, Options], Estimate]:
    """Make an estimator of samples return what it returned for equal samples and options before.

    It must return what never changes. Samples are known by a digest, so that none is kept.
    """
    kept: dict[Any, Estimate] = {}

    @functools.wraps(estimate)
    def look_up(values: Samples, /, *args: Options.args, **kwargs: Options.kwargs) -> Estimate:
        samples = np.asarray(values, dtype=np.float64)
        digest = hashlib.blake2b(samples.tobytes(), digest_size=16).digest()
        key = samples.shape, digest, args, tuple(sorted(kwargs.items()))
        known = kept.get(key)
        if known is None:
            if len(kept) >= KEPT:
                kept.clear()
            known = kept[key] = estimate(values, *args, **kwargs)
        return known

    return look_up
