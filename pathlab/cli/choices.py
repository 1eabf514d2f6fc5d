"""What the command line changes of a campaign before it is used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlab.campaign.campaign_text import CampaignText
    from pathlab.campaign.model import Campaign


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What was chosen on the command line besides the campaign itself."""

    overrides: tuple[str, ...] = ()
    profile: str | None = None
    paths: tuple[str, ...] = ()
    hosts: Path | None = None

    def load(self, source: str) -> Campaign:
        """Return the campaign of a file or of a shipped name. Raises CampaignError."""
        from pathlab.campaign.campaign_text import read_campaign

        return self.parse(read_campaign(source))

    def parse(self, given: CampaignText) -> Campaign:
        """Return the campaign that a text describes. Raises CampaignError."""
        from pathlab.campaign.load import load_campaign  # loads pydantic

        return load_campaign(given, self.overrides, profile=self.profile, paths=self.paths, hosts=self.hosts)

    def format_words(self) -> list[str]:
        """The choices as words of a command line, for hints."""
        words = [] if self.profile is None else [f"--profile={self.profile}"]
        words += [f"--paths={path}" for path in self.paths]
        words += [] if self.hosts is None else [f"--hosts={self.hosts}"]
        return [*words, *(f"--set={text}" for text in self.overrides)]
