"""Whether a results folder may be continued: the same campaign, the same seed, the same plan row by row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest

from pathlab.campaign.model import Campaign
from pathlab.errors import UsageError
from pathlab.store.records import PlanRecord
from pathlab.store.results import Results


def check_same_campaign(results: Results, campaign: Campaign) -> None:
    """Raises UsageError where the folder is of another campaign, or of the same with other settings."""
    if results.campaign.digest != campaign.digest:
        raise UsageError(
            f"{results.folder} holds another campaign or other settings ('{results.campaign.name}')",
            hint="name another folder with --out, or leave out --out for a new one",
        )


def check_same_plan(results: Results, campaign: Campaign, planned: Sequence[PlanRecord]) -> None:
    """Compare what is stored with the campaign and its plan as this program makes it.

    Trials are stored by the number of their row, so a plan in another order would give them other settings.
    Raises UsageError naming the first difference.
    """
    check_same_campaign(results, campaign)
    version = results.campaign.program_version
    difference = _find_difference(results, campaign, planned)
    if difference is not None:
        raise UsageError(
            f"the plan stored in {results.folder} differs from this program's plan: {difference}",
            hint=f"start a new run with --new, or continue this one with PathLab {version}",
        )


def _find_difference(results: Results, campaign: Campaign, planned: Sequence[PlanRecord]) -> str | None:
    if results.campaign.seed != campaign.seed:
        return f"its seed is {results.campaign.seed}, not {campaign.seed}"
    kept = results.plan()
    if (
        campaign.search is not None
    ):  # those behind are of its searches: pathlab/runner/campaign/search_rows.py
        kept = kept[: len(planned)]
    for number, (old, new) in enumerate(zip_longest(kept, planned)):
        if old is None or new is None:
            return f"it has {len(kept)} rows, not {len(planned)}"
        if _format_row(old) != _format_row(new):
            return f"row {number} is {_format_row(old)}, not {_format_row(new)}"
    return None


def _format_row(row: PlanRecord) -> str:
    settings = json.dumps(row.settings, sort_keys=True, ensure_ascii=False)
    return f"{row.row} of cycle {row.cycle}, {row.path_source} to {row.path_destination}, {settings}"
