"""Why two results share no combination: the parts in which all differ; and settings that are ignored."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from pathlab.campaign.factors import FACTORS_BY_KEY, find_default, format_levels, name_levels
from pathlab.campaign.source_text import suggest_name
from pathlab.errors import NotMeasurable, UsageError
from pathlab.store.flags import Flag
from pathlab.study.comparison.circumstances import format_trial_level
from pathlab.study.comparison.groups import (
    COMPARED,
    CONGESTION,
    CellSamples,
    ComparedCell,
    GroupedTrials,
    list_trial_levels,
)
from pathlab.units import format_bytes

#: Values of a part that are named, of each side.
NAMED_VALUES = 4
#: Options that are suggested; more differences are hardly all on purpose.
NAMED_OPTIONS = 2
#: Levels that are neither numbers nor words, as the text of a combination has them.
WRITTEN = {"None": None, "True": True, "False": False}
#: What a setting is called that no side names.
DEFAULT = "default"
#: What to do where no trial is usable.
MEASURE_AGAIN = "measure again with idle cores: pathlab run CAMPAIGN --new --wait-idle 10m"
COUNT_ALL = "to count flagged trials too, as provisional: --all"
PATH, CONGESTION_PART = "path", "congestion control"


def check_shared(
    labels: Sequence[str], groups: Sequence[Collection[ComparedCell]], again: Collection[ComparedCell] | None
) -> None:
    """Raise UsageError where results share no combination with the first: a CI would pass on nothing.

    ``again`` are the combinations of the results without any change, None where there are none.
    """
    for label, after in zip(labels[1:], groups[1:], strict=True):
        if not set(after) & set(groups[0]):
            apart = _list_mismatches(sorted(groups[0]), sorted(after))
            texts = "; ".join(f"{name}: {was} and {is_now}" for name, was, is_now in apart)
            raise UsageError(
                f"no combination was measured in both '{labels[0]}' and '{label}'{texts and f' ({texts})'}",
                hint=_suggest_options([name for name, *_ in apart]),
            )
    if again is not None and not set(again) & set(groups[0]):
        raise UsageError(
            f"the results without a change share no combination with '{labels[0]}'",
            hint="give another run of the first results, or leave --unchanged out",
        )


def check_usable(named: Sequence[tuple[str, GroupedTrials]]) -> None:
    """Raise NotMeasurable where results have no usable trial, or none of what both sides measured.

    ``named``: the label and the trials of each of the results.
    """
    (first, before), *others = named
    for label, item in named:
        if not item.samples:
            raise NotMeasurable(
                f"'{label}' has no trial to compare{_name_exclusions(item)}", hint=_suggest_remedy(item)
            )
    for label, after in others:
        shared = before.measured & after.measured
        if shared and not before.samples.keys() & after.samples.keys():
            sides = "; ".join(
                f"'{name}'{_name_exclusions(item)}" for name, item in ((first, before), (label, after))
            )
            raise NotMeasurable(
                f"no combination has a usable trial in both results: {sides}",
                hint=_suggest_remedy(before, after),
            )


def _suggest_remedy(*sides: GroupedTrials) -> str:
    """What to do where no trial is usable; to count flagged ones only where there are any."""
    reasons = {count.reason for side in sides for count in side.excluded} - {Flag.IMPORTED}
    return "; ".join([MEASURE_AGAIN, *([COUNT_ALL] if reasons & set(Flag) else [])])


def _name_exclusions(trials: GroupedTrials) -> str:
    reasons = ", ".join(f"{count.trials} {count.reason}" for count in trials.excluded)
    return f"; excluded: {reasons or 'none'}"


def find_settings(keys: Sequence[str], shared: Sequence[str]) -> tuple[str, ...]:
    """The attributes of settings to ignore, given by their keys in the campaign file.

    ``shared``: settings that combinations have besides. Raises UsageError for a key of no setting.
    """
    known = {key: factor.name for key, factor in FACTORS_BY_KEY.items()}
    known |= {key: name for name in shared for key in name_levels({name: None})}
    for key in keys:
        if key not in known:
            raise UsageError(
                f"'{key}' is not a setting to ignore{suggest_name(key, known)}",
                hint="name a key of [factors], such as window, pacing or congestion",
            )
    return tuple(known[key] for key in dict.fromkeys(keys))


def check_ignored(label: str, group: CellSamples, ignored: Sequence[str]) -> None:
    """Raise UsageError where trials of one combination have several levels of an ignored setting."""
    for name in ignored:
        for sample in group.values():
            levels = dict.fromkeys(
                format_trial_level(name, level) for level in list_trial_levels(sample, name)
            )
            if len(levels) > 1:
                (key,) = name_levels({name: None})
                raise UsageError(
                    f"'{label}' has {len(levels)} levels of {key} ({_enumerate(iter(levels))}), which "
                    f"--ignore {key} would mix",
                    hint="ignore what has one level in each of the results; the explorer compares levels of "
                    f"one campaign (colour={key})",
                )


def _suggest_options(apart: Sequence[str]) -> str:
    """What to do where results differ in all values of these parts."""
    if not apart:
        return "Give results that were measured with equal combinations of settings."
    hints = ["--any-path leaves out names of hosts"] if PATH in apart else []
    keys = [CONGESTION if name == CONGESTION_PART else name for name in apart if name != PATH]
    if 0 < len(keys) <= NAMED_OPTIONS:
        options = " ".join(f"--ignore {shlex.quote(key)}" for key in keys)
        hints.append(f"{options} compares what was changed on purpose")
    elif keys:
        hints.append("--ignore SETTING, for each that was changed on purpose")
    return f"give results of equal settings; {'; '.join(hints)}"


def _list_mismatches(
    before: Collection[ComparedCell], after: Collection[ComparedCell]
) -> list[tuple[str, str, str]]:
    """Parts of which the sides share no value: the part's name and both sides' values, for reading.

    Empty where each part alone has a value in common, and their combinations have none.
    """
    ours, theirs = ([dict(_list_parts(item)) for item in side] for side in (before, after))
    return [
        (name, _enumerate(our[name] for our in ours), _enumerate(their[name] for their in theirs))
        for name in ours[0]
        if not {our[name] for our in ours} & {their[name] for their in theirs}
    ]


def format_differing_setting(name: str, text: str) -> tuple[str, str]:
    """A setting's name and level for reading; ``text`` is the level as a combination holds it."""
    level = WRITTEN[text] if text in WRITTEN else int(text) if text.isdecimal() else text
    ((key, written),) = format_levels({name: level}).items()
    return key, DEFAULT if level is None and find_default(name) is None else written


def _list_parts(cell: ComparedCell) -> Iterator[tuple[str, str]]:
    yield PATH, f"{cell.source} → {cell.destination}"
    if cell.streams != COMPARED:
        yield "streams", str(cell.streams)
    if cell.window_bytes != COMPARED:
        yield "window", "auto" if cell.window_bytes < 0 else format_bytes(cell.window_bytes)
    yield CONGESTION_PART, cell.congestion or DEFAULT
    for name, text in cell.settings:
        yield format_differing_setting(name, text)


def _enumerate(texts: Iterator[str]) -> str:
    result: Mapping[str, None] = dict.fromkeys(texts)
    more = [f"{len(result) - NAMED_VALUES} more"] if len(result) > NAMED_VALUES else []
    return ", ".join([*list(result)[:NAMED_VALUES], *more])
