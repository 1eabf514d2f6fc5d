"""Analyses that too few trials or levels leave undecided: what each needs, and the command that gives it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from operator import attrgetter
from typing import Any

from pathlab.analysis.estimators.interval import Undecided
from pathlab.analysis.estimators.outliers import MINIMUM_SAMPLES as LEAST_FOR_OUTLIERS
from pathlab.analysis.estimators.quantiles import median_interval_minimum
from pathlab.analysis.estimators.serial import CORRELATION_SAMPLES
from pathlab.analysis.estimators.shifts import MINIMUM_PAIRS
from pathlab.analysis.fits.breakpoints import MINIMUM_TRIALS as LEAST_FOR_KNEES
from pathlab.analysis.fits.cpu_cost import MINIMUM_TRIALS as LEAST_FOR_CPU
from pathlab.analysis.fits.frequencies import MINIMUM_SAMPLES as LEAST_FOR_FREQUENCIES
from pathlab.analysis.fits.message_cost import MINIMUM_SIZES
from pathlab.analysis.fits.optimum import MINIMUM_TRIALS as LEAST_FOR_OPTIMUM
from pathlab.analysis.fits.saturation import MINIMUM_LEVELS
from pathlab.analysis.fits.saturation import MINIMUM_TRIALS as LEAST_FOR_SATURATION
from pathlab.analysis.planning.cycles import MINIMUM_CYCLES
from pathlab.analysis.verdicts.drift import MINIMUM_CONTROLS
from pathlab.analysis.verdicts.warm_up import MINIMUM_RECORDS
from pathlab.campaign.campaign_text import CampaignText, is_shipped
from pathlab.campaign.load import load_campaign
from pathlab.errors import CampaignError
from pathlab.report.base.blocks import Section
from pathlab.report.base.inputs import ReportInputs
from pathlab.report.base.tables import build_table
from pathlab.store.records import CampaignRecord
from pathlab.study.base.cells import MeasuredCondition
from pathlab.study.base.registry import ANALYSES
from pathlab.table_columns import list_table_columns
from pathlab.units import NOT_MEASURED

#: Reasons that more trials, or more levels, remove.
FEW = frozenset({Undecided.TOO_FEW_SAMPLES, Undecided.TOO_FEW_LEVELS})
#: Most paths that the list names for one analysis.
PATHS_NAMED = 3
#: Records of a trial, and some more for the last ones, which may be cut.
RECORDS = 1.1 * MINIMUM_RECORDS
#: Said once below the commands; the results do not hold the options themselves.
OPTIONS_NOTE = "Add the options that the campaign was run with (--set, --paths, --hosts)."
TITLE, HEADINGS = "What would decide them", ("Analysis", "Needs", "Command")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """An analysis that is not shown. ``needs``: what decides it; ``setting``: key and value for ``--set``.

    ``path``: the condition that it is about; None: every one. ``repeat``: it needs an idle machine.
    """

    title: str
    needs: str
    setting: str | None
    path: str | None = None
    repeat: bool = False


class Per(Enum):
    """What a need counts trials of."""

    COMBINATION = auto()
    PATH = auto()
    CYCLE = auto()
    TRIAL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What an analysis needs at least; ``read`` gives the reason why a result is undecided, if it is."""

    least: int
    per: Per = Per.COMBINATION
    read: Callable[[Any], object] = attrgetter("undecided")


def _read_breakpoints(result: Any) -> object:
    """The reason that leaves both knees open."""
    both = result.drtt.undecided, result.variability.undecided
    return both[0] if FEW.issuperset(both) else None


def _read_precision(result: Any) -> object:
    few = all(cell.n < median_interval_minimum() for cell in result.cells)
    return Undecided.TOO_FEW_SAMPLES if few and result.cells else None


def _read_drift(result: Any) -> object:
    return result.undecided if result.change.change_ratio is None else None


NEEDS: Mapping[str, Need] = {
    "precision": Need(least=median_interval_minimum(), read=_read_precision),
    "streams_vs_windows": Need(least=MINIMUM_PAIRS, read=attrgetter("comparison.ratio_interval.undecided")),
    "saturation": Need(least=LEAST_FOR_SATURATION),
    "optimum": Need(least=LEAST_FOR_OPTIMUM),
    "surface": Need(least=1),
    "duration": Need(least=MINIMUM_PAIRS),
    "message_cost": Need(least=MINIMUM_SIZES),
    "write_cost": Need(least=MINIMUM_SIZES),
    "breakpoint": Need(least=LEAST_FOR_KNEES, per=Per.PATH, read=_read_breakpoints),
    "distributions": Need(least=LEAST_FOR_FREQUENCIES, per=Per.PATH, read=attrgetter("decline.undecided")),
    "cpu_cost": Need(least=LEAST_FOR_CPU, per=Per.PATH),
    "drift": Need(least=MINIMUM_CONTROLS, per=Per.CYCLE, read=_read_drift),
    "serial": Need(least=CORRELATION_SAMPLES, read=attrgetter("size.undecided")),
    "outliers": Need(least=LEAST_FOR_OUTLIERS, read=attrgetter("outliers.undecided")),
    "planning": Need(least=MINIMUM_CYCLES),
    "warm_up": Need(least=MINIMUM_RECORDS, per=Per.TRIAL),
}


def find_shortfall(
    inputs: ReportInputs, name: str, condition: MeasuredCondition | None = None
) -> Shortfall | None:
    """Why an analysis is not shown of a condition (None: of any); None where it has something to show."""
    conditions = inputs.conditions if condition is None else (condition,)
    answered = [item for item in conditions if inputs.answers(name, item)]
    ones = [_find_one(inputs, name, item) for item in answered]
    return ones[0] if ones and all(ones) else None


def _find_one(inputs: ReportInputs, name: str, condition: MeasuredCondition) -> Shortfall | None:
    need = NEEDS.get(name)
    if need is None:
        return None
    reasons = {need.read(answer.result) for answer in inputs.answers(name, condition)}
    if not reasons or not reasons <= FEW:
        return None
    title = ANALYSES[name].title
    if reasons == {Undecided.TOO_FEW_LEVELS}:
        return Shortfall(
            title=title, needs="more levels", setting=_add_levels(condition), path=condition.name
        )
    needs, setting = _describe_need(inputs, need, condition)
    return Shortfall(title=title, needs=needs, setting=setting, path=condition.name)


def _describe_need(inputs: ReportInputs, need: Need, condition: MeasuredCondition) -> tuple[str, str]:
    """What is needed, and the setting that gives it."""
    done, least = max(inputs.study.count_trials().cycles, 1), need.least
    usable = min((len(cell.sample) for cell in condition.cells), default=0)
    if need.per is Per.CYCLE:
        return f"{least} cycles", f"cycles={least}"
    if need.per is Per.PATH:
        most = math.ceil(least * done / max(len(condition.sample), 1))
        return f"{least} usable trials", f"cycles={max(most, done + 1)}"
    if need.per is Per.TRIAL:
        settings = inputs.study.study_table().frame
        interval_s, warmup_s = (float(settings[name].max()) / 1e9 for name in ("interval_ns", "warmup_ns"))
        length_s = math.ceil(max(RECORDS * interval_s - warmup_s, 1.0))
        return f"{least} records of each trial", f"trial.duration={length_s}s"
    return (
        f"{least} usable trials of each combination",
        f"cycles={done + max(least - usable, 1)}",
    )


def _add_levels(condition: MeasuredCondition) -> str:
    levels = list(condition.stream_counts)
    while True:
        levels.append(2 * levels[-1])
        if len(levels) > MINIMUM_LEVELS:
            return f"factors.streams={levels}".replace(" ", "")


def build_shortfalls(inputs: ReportInputs, shortfalls: Iterable[Shortfall]) -> Iterator[Section]:
    """The one list of what is not shown, with the commands that would decide it; none where all is shown."""
    by_title: dict[str, list[Shortfall]] = {}
    for item in shortfalls:
        if item not in by_title.setdefault(item.title, []):
            by_title[item.title].append(item)
    campaign = inputs.source.campaign
    rows = [
        (_name(inputs, parts), parts[-1].needs, _format_command(campaign, parts[-1]))
        for parts in (sorted(some, key=_count_cycles) for some in by_title.values())
    ]
    if rows:
        note = OPTIONS_NOTE if campaign.text and _has_options(campaign) else None
        table = build_table(
            "undecided", TITLE, list_table_columns(HEADINGS, HEADINGS, stay=True), rows, note=note
        )
        yield Section(key="not-decided", title="Not decided yet", blocks=(table,))


def _name(inputs: ReportInputs, parts: list[Shortfall]) -> str:
    """The analysis, with its paths where it is shown of others."""
    paths = list(dict.fromkeys(part.path for part in parts if part.path is not None))
    if not paths or len(paths) == len(inputs.conditions):
        return parts[0].title
    named = "; ".join(paths) if len(paths) <= PATHS_NAMED else f"{len(paths)} paths"
    return f"{parts[0].title} ({named})"


def _count_cycles(shortfall: Shortfall) -> int:
    number = (shortfall.setting or "").removeprefix("cycles=")
    return int(number) if number.isdecimal() else 0


def _format_command(campaign: CampaignRecord, shortfall: Shortfall) -> str:
    """The command of one analysis; a campaign that was changed is not named as the one that ships."""
    if campaign.model.get("imported") or campaign.model.get("history"):
        return NOT_MEASURED  # no campaign to run
    shipped = is_shipped(campaign.name, campaign.text)
    words = ["pathlab", "run", campaign.name if shipped else "CAMPAIGN"]
    if profile := campaign.model.get("profile"):
        words += ["--profile", str(profile)]
    if shortfall.repeat:
        return f"{shlex.join(words)} --new --wait-idle 2m"
    return NOT_MEASURED if shortfall.setting is None else shlex.join([*words, "--set", shortfall.setting])


def _has_options(campaign: CampaignRecord) -> bool:
    """Whether the campaign's text and profile alone give another campaign than the one measured."""
    given = CampaignText(label=f"{campaign.name}.toml", text=campaign.text)
    try:
        return load_campaign(given, profile=campaign.model.get("profile")).digest != campaign.digest
    except CampaignError:
        return True
