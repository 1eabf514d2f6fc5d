"""Names of combinations, limits, losses and times in a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pathlab.analysis.estimators.loss import Loss
from pathlab.analysis.verdicts.limits import Limit
from pathlab.units import NOT_MEASURED, format_bytes, format_ratio, format_window

#: What limits a rate.
LIMITS = {
    Limit.RECEIVER_WINDOW: "the receiver's window",
    Limit.SEND_BUFFER: "the sender's buffer",
    Limit.WINDOW: "the window",
    Limit.CONGESTION: "congestion control after losses",
    Limit.PATH_CAPACITY: "the path's capacity",
    Limit.RATE_LIMIT: "a rate limit of the path",
    Limit.RETURN_PATH: "a queue on the return path",
    Limit.APPLICATION: "the sending application",
    Limit.RECEIVING_APPLICATION: "the receiving application",
    Limit.HOST_CPU: "a host's CPU",
}
SHORTENED_RUN = 4  # from how many consecutive numbers on only the ends are named


def format_limit_name(limit: Limit, *, at_requested_rate: bool) -> str:
    """What limits a rate; the requested rate, where the application kept to it."""
    return "the requested rate" if at_requested_rate else LIMITS[limit]


def name_combination(streams: int, window_bytes: int | None) -> str:
    """Streams and window in words: ``4 streams with a 64 KiB window``."""
    count = "1 stream" if streams == 1 else f"{streams} streams"
    window = "autotuned windows" if window_bytes is None else f"a {format_bytes(window_bytes)} window"
    return f"{count} with {window}"


def shorten_levels(streams: int, window_bytes: int | None) -> str:
    """Streams and window in short: ``4 × 64 KiB``."""
    return f"{streams} × {format_window(window_bytes)}"


def format_utc(stored: str) -> str:
    """A stored time (``2026-11-21T05:03:05.334+00:00``) to the second: ``2026-11-21 05:03:05 UTC``."""
    if not stored:
        return "at a time that is not known"
    return f"{stored[:19].replace('T', ' ')} UTC"


def format_granted(sender_bytes: float | None, receiver_bytes: float | None) -> str:
    """The grants of both kernels, once if they are equal."""
    if sender_bytes == receiver_bytes:
        return format_bytes(sender_bytes)
    return f"{format_bytes(sender_bytes)}/{format_bytes(receiver_bytes)}"


def enumerate_cells(cells: Iterable[tuple[int, int | None]]) -> str:
    """Cells (streams, window) in short, by window: ``1 to 4 and 8 × (64 KiB, 256 KiB); 1 × 1 MiB``."""
    by_window: dict[str, list[int]] = {}
    for streams, window in sorted(set(cells), key=lambda cell: (cell[1] is None, cell[1] or 0, cell[0])):
        by_window.setdefault(format_window(window), []).append(streams)
    groups: dict[str, list[str]] = {}
    for name, numbers in by_window.items():
        groups.setdefault(enumerate_numbers(numbers), []).append(name)
    return "; ".join(
        f"{streams} × {windows[0] if len(windows) == 1 else '(' + ', '.join(windows) + ')'}"
        for streams, windows in groups.items()
    )


def enumerate_numbers(numbers: Sequence[int]) -> str:
    """Ascending numbers in short: ``1 to 12, 15 and 20``; fewer than four in a row are named one by one."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts: list[str] = []
    for run in runs:
        texts += [f"{run[0]} to {run[-1]}"] if len(run) >= SHORTENED_RUN else [str(item) for item in run]
    return f"{', '.join(texts[:-1])}{' and ' if texts[1:] else ''}{texts[-1]}"


def format_loss(loss: Loss) -> str:
    """Loss with counts and interval: ``0 of 200 (95 % CI up to 1.9 %)``; few trials have no interval."""
    low, high = loss.interval_ratio.low, loss.interval_ratio.high
    if loss.loss_ratio is None:
        return "not measured"
    if low is None or high is None:
        return f"{loss.lost} of {loss.sent}"
    bounds = format_ratio(high) if not loss.lost else f"{format_ratio(low)} to {format_ratio(high)}"
    return f"{loss.lost} of {loss.sent} (95 % CI {'' if loss.lost else 'up to '}{bounds})"


def format_short_loss(loss: Loss) -> str:
    """Loss with its interval in short: ``0.4 % (95 % CI 0.3–0.5 %)``."""
    low, high = loss.interval_ratio.low, loss.interval_ratio.high
    if loss.loss_ratio is None:
        return NOT_MEASURED
    if low is None or high is None:
        return format_ratio(loss.loss_ratio)
    return f"{format_ratio(loss.loss_ratio)} (95 % CI {100 * low:.3g}–{100 * high:.3g} %)"
