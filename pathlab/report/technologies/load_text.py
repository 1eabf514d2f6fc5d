"""What a background load did, and in which trials it was weak, in words."""

from __future__ import annotations

from collections.abc import Sequence

from pathlab.study.technologies.background import LOAD_RATES, LoadedRoundTrips, find_median_rates, name_level


def describe_weak_loads(rows: Sequence[LoadedRoundTrips]) -> str:
    """``Weak, less than `least_share`: cpu load in 24 of 24 trials …``, of one metric; empty for none."""
    texts = []
    for name, result in _by_load(rows).items():
        weak, loaded = (
            sum(getattr(item, key) for item in result) for key in ("weak_trials", "loaded_trials")
        )
        if weak:
            texts.append(f"{name} in {weak} of {loaded} trials ({_join_rates(result)})")
    return f"Weak, less than `least_share`: {'; '.join(texts)}." if texts else ""


def describe_load_rates(rows: Sequence[LoadedRoundTrips]) -> str:
    """``Background load, median of trials: cpu load 48 % of its threads' time.``; empty where none ran."""
    texts = [
        f"{name} {_join_rates(result)}" for name, result in _by_load(rows).items() if _join_rates(result)
    ]
    return f"Background load, median of trials: {'; '.join(texts)}." if texts else ""


def _join_rates(rows: Sequence[LoadedRoundTrips]) -> str:
    """``48 % of its threads' time, 30 MB/s of disk``: the median over rows."""
    return ", ".join(LOAD_RATES[name](value) for name, value in find_median_rates(rows).items())


def _by_load(rows: Sequence[LoadedRoundTrips]) -> dict[str, list[LoadedRoundTrips]]:
    result: dict[str, list[LoadedRoundTrips]] = {}
    for row in rows:
        of_load = row.factor == "background"
        result.setdefault(name_level(row.factor, row.ratio.level) if of_load else "load", []).append(row)
    return result
