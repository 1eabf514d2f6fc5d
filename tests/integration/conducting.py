"""Small campaigns, run on real engines in this process, and what is left of them."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pathlab
from pathlab.campaign.campaign_text import read_campaign
from pathlab.campaign.load import build_campaign, load_campaign
from pathlab.campaign.model import Campaign
from pathlab.runner.campaign.run import CampaignSource, RunOutcome, run_campaign
from pathlab.runner.events import Event, RunNotice
from pathlab.store.records import TrialRecord
from tests.require import require_engine

LOG = logging.getLogger(__name__)
LAB = {
    "hosts": ["a", "b", "c", "d"],
    "links": [
        {"between": ["a", "b"], "rate": "20Mbit/s", "delay": "5ms", "queue": "250kB"},
        {"between": ["c", "d"], "rate": "20Mbit/s", "delay": "5ms", "queue": "250kB"},
    ],
}
AB = [{"source": "a", "destination": "b"}]


@dataclass
class Watch:
    """Keeps the events, and does something at one of them."""

    at: Callable[[Event], None] = lambda _event: None
    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.at(event)

    def notices(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, RunNotice))


def campaign_of(**extra: Any) -> Campaign:
    """A short campaign with other settings; a busy machine gives no further trials."""
    data: dict[str, Any] = {
        "format": 1,
        "name": "conduct",
        "title": "Conduct",
        "seed": 3,
        "order": "given",
        "retries": 0,
        "paths": [{"source": "local", "destination": "local"}],
        "factors": {"streams": [1]},
        "trial": {"warmup": "0ms", "duration": "100ms", "interval": "20ms", "drain": "30s"},
        "probes": {"interval": "10ms", "unloaded": 2},
    }
    return build_campaign(data | extra, label="conduct")


def run(campaign: Campaign, folder: Path, watch: Watch | None = None) -> RunOutcome:
    """Run it, and log why trials failed, which pytest shows with a test that fails."""
    require_engine()
    outcome = run_campaign(CampaignSource(campaign=campaign, text=""), folder, watch or Watch())
    for record in stored(folder) if outcome.failed else ():
        if record.failed_stage is not None:
            LOG.warning(
                "row %s, attempt %s: %s: %s",
                *(record.plan_row, record.attempt, record.failed_stage, record.failure),
            )
    return outcome


def run_file(campaign: Path, folder: Path, *overrides: str) -> RunOutcome:
    """Run a campaign's file in this process."""
    given = read_campaign(campaign)
    source = CampaignSource(campaign=load_campaign(given, overrides), text=given.text)
    return run_campaign(source, folder, lambda _event: None)


def stored(folder: Path) -> list[TrialRecord]:
    with pathlab.open(folder) as results:
        return results.records()


def journal(folder: Path) -> list[tuple[str, str]]:
    with pathlab.open(folder) as results:
        return [(entry.kind, entry.text) for entry in results.journal()]


def settings(folder: Path, trial: int) -> dict[str, dict[str, str | None]]:
    with pathlab.open(folder) as results:
        return {line["name"]: line for line in results.series_table(trial, "settings").to_pylist()}
