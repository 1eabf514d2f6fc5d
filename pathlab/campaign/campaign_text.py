"""The text of a campaign: a file, or one that ships with PathLab. Loads nothing that takes long."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pathlab.campaign.source_text import list_names, suggest_name
from pathlab.campaign.toml_text import read_toml_text
from pathlab.errors import CampaignError

SHIPPED_PACKAGE = "pathlab.campaigns"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignText:
    """A campaign file as it was given: its text, and the name that messages use."""

    label: str
    text: str


def list_shipped() -> tuple[str, ...]:
    """Return the names of the campaigns that ship with PathLab."""
    files = resources.files(SHIPPED_PACKAGE).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def is_shipped(name: str, text: str) -> bool:
    """Whether a text is the one that ships under this name."""
    return name in list_shipped() and _read_shipped(name) == text


def _read_shipped(name: str) -> str:
    return (resources.files(SHIPPED_PACKAGE) / f"{name}.toml").read_text(encoding="utf-8")


def read_campaign(source: str | Path) -> CampaignText:
    """Return the text of a campaign file, or of a shipped campaign by its name. Raises CampaignError."""
    path = Path(source)
    name = str(source)
    shipped = list_shipped()
    if name in shipped and not path.is_file():
        return CampaignText(label=f"{name}.toml", text=_read_shipped(name))
    if not path.exists() and path.suffix != ".toml" and len(path.parts) == 1:
        message = (
            f"there is no campaign '{name}': neither a file nor one that ships{suggest_name(name, shipped)}"
        )
        raise CampaignError(message, hint=f"give a TOML file, or one of {list_names(shipped)}")
    hint = f"give a readable TOML file, or one that ships: {list_names(shipped)}"
    return CampaignText(label=name, text=read_toml_text("campaign", name, hint))
