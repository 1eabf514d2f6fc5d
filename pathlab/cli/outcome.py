"""The exit status of a run whose trials are missing, and of results that hold no usable trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pathlab.errors import NotMeasurable, PartialCampaign
from pathlab.runner.campaign.run import RunOutcome
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


def check_complete_rows(outcome: RunOutcome, again: str) -> None:
    """Exit 4 when rows are missing; what was measured is stored and reported all the same."""
    if not outcome.missing:
        return
    if outcome.interrupted:
        done = f"{outcome.ended} after {outcome.complete} of {outcome.rows} trials"
    else:
        reason = outcome.ended or f"{outcome.failed} failed"
        done = f"{outcome.complete} of {outcome.rows} trials are complete ({reason})"
    raise PartialCampaign(f"{done}; everything measured is saved in {outcome.folder}", hint=again)
