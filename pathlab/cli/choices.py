"""The options that every command has that reads a campaign: what changes the file before it is used."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pathlab.campaign.load import CampaignText, load_campaign, parse_campaign
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
        return load_campaign(source, self.overrides, profile=self.profile, paths=self.paths, hosts=self.hosts)

    def parse(self, given: CampaignText) -> Campaign:
        """Return the campaign that a text describes. Raises CampaignError."""
        return parse_campaign(given, self.overrides, profile=self.profile, paths=self.paths, hosts=self.hosts)

    def spell(self) -> list[str]:
        """The choices as words of a command line, for hints."""
        words = [] if self.profile is None else [f"--profile={self.profile}"]
        words += [f"--paths={path}" for path in self.paths]
        words += [] if self.hosts is None else [f"--hosts={self.hosts}"]
        return [*words, *(f"--set={text}" for text in self.overrides)]


def campaign_choices(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--set``, ``--profile``, ``--paths`` and ``--hosts``, given to the command as ``choices``."""

    @functools.wraps(command)
    def with_choices(
        *words: Any,
        overrides: tuple[str, ...],
        profile: str | None,
        paths: tuple[str, ...],
        hosts: Path | None,
        **others: Any,
    ) -> Any:
        choices = Choices(overrides=overrides, profile=profile, paths=paths, hosts=hosts)
        return command(*words, choices=choices, **others)

    options = (
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            help="Override a key of the campaign file, such as trial.duration=5s.",
        ),
        click.option("--profile", metavar="NAME", help="Apply a profile of the campaign, such as quick."),
        click.option(
            "--paths",
            multiple=True,
            metavar="A:B[,C:D]",
            help="Measure from A to B instead of the campaign's own paths.",
        ),
        click.option(
            "--hosts",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Hosts by name, for the paths; else hosts.toml beside the campaign.",
        ),
    )
    for option in reversed(options):
        with_choices = option(with_choices)
    return with_choices
