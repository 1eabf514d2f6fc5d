"""Why two results share no combination: the parts in which all of them differ, by name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from pathlab.campaign.factors import find_default, format_levels
from pathlab.errors import UsageError
from pathlab.study.comparison.groups import ComparedCell
from pathlab.units import format_bytes

#: Values of a part that are named, of each side.
NAMED_VALUES = 4
#: Levels that are neither numbers nor words, as the text of a combination has them.
WRITTEN = {"None": None, "True": True, "False": False}
#: What a setting is called that no side names.
DEFAULT = "default"


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
                hint="Give results of equal paths, streams, windows, congestion control and settings; "
                "--any-path leaves out names.",
            )
    if again is not None and not set(again) & set(groups[0]):
        raise UsageError(
            f"the results without a change share no combination with '{labels[0]}'",
            hint="Give another run of the first results, or leave --unchanged out.",
        )


def _list_mismatches(
    before: Collection[ComparedCell], after: Collection[ComparedCell]
) -> list[tuple[str, str, str]]:
    """Parts of which the sides share no value: the part's name and both sides' values, for reading.

    Empty where each part alone has a value in common, and their combinations have none.
    """
    ours, theirs = ([dict(_list_parts(one)) for one in side] for side in (before, after))
    return [
        (name, _enumerate(one[name] for one in ours), _enumerate(one[name] for one in theirs))
        for name in ours[0]
        if not {one[name] for one in ours} & {one[name] for one in theirs}
    ]


def format_differing_setting(name: str, text: str) -> tuple[str, str]:
    """A setting's name and level for reading; ``text`` is the level as a combination holds it."""
    level = WRITTEN[text] if text in WRITTEN else int(text) if text.isdecimal() else text
    ((key, written),) = format_levels({name: level}).items()
    return key, DEFAULT if level is None and find_default(name) is None else written


def _list_parts(one: ComparedCell) -> Iterator[tuple[str, str]]:
    yield "path", f"{one.source} → {one.destination}"
    yield "streams", str(one.streams)
    yield "window", "auto" if one.window_bytes < 0 else format_bytes(one.window_bytes)
    yield "congestion control", one.congestion or DEFAULT
    for name, text in one.settings:
        yield format_differing_setting(name, text)


def _enumerate(texts: Iterator[str]) -> str:
    found: Mapping[str, None] = dict.fromkeys(texts)
    more = [f"{len(found) - NAMED_VALUES} more"] if len(found) > NAMED_VALUES else []
    return ", ".join([*list(found)[:NAMED_VALUES], *more])
