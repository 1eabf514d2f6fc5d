"""Flags of trials in tables: how many have each, and the mark of provisional trials."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pathlab.store.flags import Flag

if TYPE_CHECKING:
    from pathlab.study.base.cells import MeasuredCondition

RUN_FLAGS = (Flag.LAB, Flag.LOOPBACK_FALLBACK)  # true of the whole run, so not repeated
#: Mark of a count of provisional trials, and the line that explains it.
PROVISIONAL = "*"
PROVISIONAL_EXPLANATION = f"{PROVISIONAL} all trials lab-limited."


def count_flags(*conditions: MeasuredCondition) -> str:
    """Trials of conditions by flag but for those of the whole run, and those that did not complete."""
    flags: Counter[str] = Counter()
    cells = [cell for condition in conditions for cell in condition.all_cells]
    for cell in cells:
        flags.update({name: n for name, n in cell.complete.count_flags().items() if name not in RUN_FLAGS})
    texts = [f"{count} {name}" for name, count in sorted(flags.items())]
    interrupted = sum(cell.interrupted for cell in cells)
    failed = sum(cell.failed for cell in cells) - interrupted
    texts += [
        f"{count} {word}" for count, word in ((failed, "failed"), (interrupted, "interrupted")) if count
    ]
    return ", ".join(texts)
