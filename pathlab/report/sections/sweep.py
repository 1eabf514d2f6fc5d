"""The chapter on the number of streams: every figure against it, and where throughput saturates."""

from __future__ import annotations

from collections.abc import Iterator

from pathlab.report.sections.drafts import Chapter, Draft
from pathlab.report.sections.places import Book, Place
from pathlab.report.sections.saturation import outline_saturation
from pathlab.report.sections.views import outline_views


def _varies(place: Place) -> bool:
    """Whether one window, at least, was measured with several numbers of streams."""
    windows = [window for _, window in place.cells]
    return len(windows) > len(set(windows))


def _outline(book: Book) -> Iterator[Draft]:
    for place in filter(_varies, book.places):
        yield from outline_views(place, book)
        yield from outline_saturation(book, place)


def _find_gap(book: Book) -> str | None:
    if any(map(_varies, book.places)):
        return None
    return "no window was measured with more than one number of streams"


CHAPTER = Chapter(
    key="streams-sweep", title="Against the number of streams", find_gap=_find_gap, outline=_outline
)
