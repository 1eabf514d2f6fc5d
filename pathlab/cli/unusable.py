"""The status of results that hold no usable trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pathlab.errors import NotMeasurable
from pathlab.store.records import TrialRecord
from pathlab.store.usable import find_flaw


def check_usable_trials(records: Iterable[TrialRecord], hint: str) -> None:
    """Raise NotMeasurable where there are trials and none is usable; what was measured was shown before."""
    flaws = Counter(map(find_flaw, records))
    if not flaws or None in flaws:
        return
    reasons = ", ".join(f"{count} {reason}" for reason, count in flaws.most_common())
    raise NotMeasurable(
        f"not measurable here: of {flaws.total()} trials none is usable ({reasons})", hint=hint
    )
