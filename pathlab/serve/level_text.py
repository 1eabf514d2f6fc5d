"""The settings of a row of the plan in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pathlab.campaign.factors import format_levels


def format_settings(settings: Mapping[str, Any]) -> str:
    """``streams 8, window 64 KiB``: factor levels by name, but for those left to the system."""
    given = {name: level for name, level in settings.items() if level is not None}
    return ", ".join(f"{key} {text}" for key, text in format_levels(given).items())
