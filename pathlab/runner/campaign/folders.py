"""Which results folder a run writes to: the one named, the unfinished one, or a fresh one."""

from __future__ import annotations

import datetime
from pathlib import Path

from pathlab.campaign.model import Campaign
from pathlab.errors import PathlabError, UsageError
from pathlab.runner.campaign.resumption import check_same_campaign
from pathlab.runner.journal import is_finished
from pathlab.store.location import DATABASE_NAME, RESULTS_ROOT
from pathlab.store.results import Results


def choose_folder(campaign: Campaign, *, out: Path | None, new: bool, root: Path = RESULTS_ROOT) -> Path:
    """The folder to run in. Raises UsageError when ``out`` holds something else.

    Without ``out`` it is the newest unfinished run of the same campaign under ``root``, else a fresh one.
    """
    if out is not None:
        if out.exists() and not out.is_dir():
            raise UsageError(f"--out: '{out}' is a file, not a folder", hint="name another folder")
        if (out / DATABASE_NAME).exists():
            if new:
                raise UsageError(f"--out: '{out}' already holds results", hint="name another folder")
            with Results.open(out) as results:
                check_same_campaign(results, campaign)
        return out
    if not new:
        result = _unfinished(campaign, root)
        if result is not None:
            return result
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = root / f"{campaign.name}-{stamp}"
    number = 2
    while folder.exists():
        folder = root / f"{campaign.name}-{stamp}-{number}"
        number += 1
    return folder


def _unfinished(campaign: Campaign, root: Path) -> Path | None:
    for folder in sorted(root.glob(f"{campaign.name}-*"), reverse=True):
        if not (folder / DATABASE_NAME).exists():
            continue
        try:
            with Results.open(folder) as results:
                same = results.campaign.digest == campaign.digest
                is_open = results.unfinished() or campaign.search is not None  # which plans rows as it goes
                if same and is_open and not is_finished(results):
                    return folder
        except PathlabError:
            continue  # a folder of another format or in use is not ours to continue
    return None
