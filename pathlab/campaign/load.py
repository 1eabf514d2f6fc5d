"""Reading a campaign file: every mistake at once, each with file, key and what was expected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pathlab.campaign.campaign_text import CampaignText, list_shipped, read_campaign
from pathlab.campaign.checks import find_contradictions
from pathlab.campaign.completion import complete_design, fill_lab, is_filled_in
from pathlab.campaign.host_file import find_host_file, needs_hosts, put_hosts, read_shared_hosts
from pathlab.campaign.lab_checks import check_lab
from pathlab.campaign.lab_model import LabSettings
from pathlab.campaign.levels import ENGINE
from pathlab.campaign.mistakes import translate
from pathlab.campaign.model import PROFILE_NAME_PATTERN, Campaign
from pathlab.campaign.overrides import list_keys, put_override, put_paths, put_profile, take_profiles
from pathlab.campaign.plan_checks import check_plan_size, find_plan_faults
from pathlab.campaign.ready_labs import list_ready_labs, read_ready_lab
from pathlab.campaign.source_text import Finding, Key, list_names, read_table, suggest_name
from pathlab.campaign.technologies import list_adapter_faults
from pathlab.campaign.toml_text import (
    combine_mistakes,
    format_finding,
    list_key_lines,
    locate_key,
    parse_toml,
)
from pathlab.errors import CampaignError, UsageError

#: What set a key: words that name an option, or the key of the table in the file that has it, () for the top.
Origin = str | Key
#: What to do where the mistake is in an option and not in the file.
OPTION_HINTS = {
    "--set ": (
        "write --set TABLE.KEY=VALUE, the value as in the file: --set trial.duration=5s, "
        "--set 'factors.streams=[1, 4]'; the keys: pathlab campaigns schema"
    ),
    "--paths: ": "write --paths SOURCE:DESTINATION, with hosts of the campaign or of --hosts FILE",
    "--profile: ": "pathlab campaigns show CAMPAIGN prints the file with its profiles",
}


def load_campaign(
    source: str | Path | CampaignText,
    overrides: Sequence[str] = (),
    *,
    profile: str | None = None,
    paths: Sequence[str] = (),
    hosts: Path | None = None,
) -> Campaign:
    """Return the campaign of a file, a shipped name or a text, with a profile, paths and overrides put in.

    An override names a key by its dotted path (``trial.duration=5s``, ``lab.links.0.rate=10Mbit/s``); its
    value is TOML, or a text when it is not TOML. Paths are ``SOURCE:DESTINATION`` and replace the file's.
    Overrides count for more than the profile, the profile for more than the file. ``hosts`` is a file of
    hosts that the paths may name, by default the ``hosts.toml`` next to the campaign. Raises CampaignError
    with every mistake.
    """
    given = source if isinstance(source, CampaignText) else read_campaign(source)
    data = parse_toml("campaign", given.label, given.text)
    profiles = take_profiles(data)
    shared = SharedFile(given.label, hosts)
    mistakes = _check_profiles(given, data, profiles, shared)
    chosen = profile or data.pop("profile", None)
    origins: dict[str, Origin] = {}
    try:
        if chosen is not None:
            data = put_profile(data, profiles, str(chosen))
            origins |= _profile_origins(str(chosen), profiles)
        if paths:
            put_paths(data, paths)
            origins["paths"] = "--paths"
    except UsageError as error:
        label = "" if error.message.startswith("--") else "--profile" if profile else given.label
        mistakes.append(": ".join(filter(None, (label, error.message, error.hint))))
    for override in overrides:
        problem = put_override(data, override)
        if problem:
            mistakes.append(f"--set '{override}': {problem}")
        else:
            origins[override.partition("=")[0].strip()] = f"--set '{override}'"
    origins = {**shared.put_into(data), **origins}
    return build_campaign(data, label=given.label, text=given.text, origins=origins, mistakes=mistakes)


class SharedFile:
    """The hosts file of a campaign: the one named, else that alongside it, read when a path needs it."""

    def __init__(self, label: str, named: Path | None) -> None:
        self._path = find_host_file(label, named)
        self._hosts = None if named is None else read_shared_hosts(named)

    def put_into(self, data: dict[str, Any]) -> dict[str, Origin]:
        """Give the campaign's table the hosts that it names, as ``put_hosts``; where each was written.

        Raises CampaignError for a file that cannot be used.
        """
        if self._hosts is None:
            if self._path is None or not needs_hosts(data):
                return {}
            self._hosts = read_shared_hosts(self._path)
        return {f"hosts.{name}": self._hosts.places[name] for name in put_hosts(data, self._hosts.tables)}


def build_campaign(
    data: Mapping[str, Any],
    *,
    label: str,
    text: str = "",
    origins: Mapping[str, Origin] | None = None,
    mistakes: Sequence[str] = (),
) -> Campaign:
    """Return the campaign that a table describes (keys and values as in a file). Raises CampaignError.

    ``label`` names the table in messages, ``text`` is what it was read from; ``origins`` maps dotted keys to
    what set them instead, the last one counting most; ``mistakes`` were found before and are reported
    together with what is found here.
    """
    campaign, findings = _examine(data)
    if campaign is not None and not findings:
        findings = find_plan_faults(campaign)
    if campaign is None or findings or mistakes:
        lines = list_key_lines(text)
        result = [f"{_name_origin(key, label, origins or {}, lines)}: {what}" for key, what in findings]
        words = " ".join(what for key, what in findings if ENGINE in key)
        unread = [fault for fault in list_adapter_faults() if f'"{Path(fault.split(":")[0]).stem}"' in words]
        every = [*mistakes, *result, *unread]
        hints = {hint for option, hint in OPTION_HINTS.items() for item in every if item.startswith(option)}
        in_options = all(item.startswith(tuple(OPTION_HINTS)) for item in every)
        hint = hints.pop() if in_options and len(hints) == 1 else _hint_at_shipped(label)
        raise combine_mistakes("campaign", label, every, hint=hint)
    return campaign


def _examine(data: Mapping[str, Any]) -> tuple[Campaign | None, list[Finding]]:
    """The campaign, if the tables are one at all, and what is wrong with them."""
    findings: list[Finding] = []
    data = fill_lab(data, findings)
    whole = complete_design(data)
    campaign = None
    try:
        campaign = Campaign.model_validate(whole)
    except ValidationError as error:
        translated = translate(error, whole)
        findings += [result for result in translated if not is_filled_in(result[0], data, whole)]
    contradictions = find_contradictions(data)
    if campaign is not None and not contradictions:
        findings += check_plan_size(campaign)
    return campaign, [*findings, *contradictions]


def _hint_at_shipped(label: str) -> str | None:
    """What to do where the options for a shipped campaign are wrong; None for another campaign."""
    name = label.removesuffix(".toml")
    if name not in list_shipped() or Path(label).exists():
        return None
    return f"change the options; the campaign itself: pathlab campaigns show {name}"


def _name_origin(key: Key, label: str, origins: Mapping[str, Origin], lines: Mapping[Key, int]) -> str:
    """What set a key: an option, else its place in the file."""
    setter = _find_setter(key, origins, lines)
    return setter if isinstance(setter, str) else locate_key(label, (*setter, *key), lines)


def _find_setter(key: Key, origins: Mapping[str, Origin], lines: Mapping[Key, int]) -> Origin:
    """The last origin of a key or of its table; of a table that the file lacks, that of a key in it."""
    dotted = ".".join(map(str, key))
    setters = [origin for name, origin in origins.items() if f"{dotted}.".startswith(f"{name}.")]
    if not setters and key and key not in lines:
        setters = [origin for name, origin in origins.items() if name.startswith(f"{dotted}.")]
    return setters[-1] if setters else ()


def _profile_origins(name: str, profiles: Mapping[str, Any]) -> dict[str, Origin]:
    return dict.fromkeys(list_keys(profiles[name]), ("profiles", name))


def _check_profiles(
    given: CampaignText,
    data: Mapping[str, Any],
    profiles: Mapping[str, Any],
    shared: SharedFile,
) -> list[str]:
    """What is wrong with the keys of each profile, whether it is used or not."""
    findings: list[Finding] = []
    for name, values in profiles.items():
        if not isinstance(values, Mapping) or not re.fullmatch(PROFILE_NAME_PATTERN, name):
            findings.append(
                (("profiles", name), "does not fit; expected a table with a name such as 'quick'")
            )
            continue
        origins = _profile_origins(name, profiles)
        whole = put_profile(data, profiles, name)
        shared.put_into(whole)
        for key, what in _examine(whole)[1]:
            setter = _find_setter(key, origins, {})
            if setter:
                findings.append(((*setter, *key), what))
    lines = list_key_lines(given.text) if findings else {}
    return [format_finding(given.label, finding, lines) for finding in findings]


def load_lab(source: str) -> LabSettings:
    """Return a ready-made lab by its name, or the ``[lab]`` table of a file. Raises CampaignError."""
    if source in list_ready_labs() and not Path(source).is_file():
        return LabSettings.model_validate(read_ready_lab(source))
    if not Path(source).exists() and not source.endswith(".toml"):
        known = list_ready_labs()
        message = (
            f"there is no lab '{source}': neither a file nor a ready-made one{suggest_name(source, known)}"
        )
        raise CampaignError(message, hint=f"give a TOML file, or one of {list_names(known)}")
    given = read_campaign(source)
    data = parse_toml("lab", given.label, given.text)
    if not read_table(data, "lab"):
        mistake = f"{given.label}: has no table [lab]; expected hosts and links in one"
        raise combine_mistakes("lab", given.label, [mistake])
    findings: list[Finding] = []
    lab = build_lab(fill_lab({"lab": data["lab"]}, findings), findings)
    if lab is None or findings:
        lines = list_key_lines(given.text)
        raise combine_mistakes(
            "lab", given.label, [format_finding(given.label, finding, lines) for finding in findings]
        )
    return lab


def build_lab(whole: Mapping[str, Any], findings: list[Finding]) -> LabSettings | None:
    """Return the lab of the table ``lab``; add what is wrong with it."""
    lab = None
    try:
        lab = LabSettings.model_validate(whole["lab"])
    except ValidationError as error:
        findings += translate(error, whole, ("lab",))
    findings += check_lab(whole)
    return lab
