"""Fan-out: the messages per second of each sink and of all together, by number of sinks."""

from __future__ import annotations

from dataclasses import dataclass

from pathlab.analysis.estimators.interval import Interval
from pathlab.study.base.answer import Answer, Spread, make_cell_answer, measure_spread
from pathlab.study.base.selection import NOT_POSITIVE, VOID_FLAGS, Rules, Sample, select
from pathlab.study.base.trials import TrialTable
from pathlab.study.messages.batching import compare_message_rates
from pathlab.study.messages.message_rates import MESSAGE_SIZE, MESSAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOut:
    """One number of sinks, each with a stream of its own: all together, and the mean sink.

    ``total_ratio`` is the total over that with the fewest sinks of the same condition, from the cycles that
    have both; None for the fewest themselves. ``jain_ratio``: Jain's index over the sinks' bytes; of one sink
    there is none.
    """

    sinks: int
    message_bytes: int
    total_messages_per_s: Spread
    sink_messages_per_s: Spread
    throughput_bits_per_s: Spread
    total_ratio: float | None
    total_ratio_interval: Interval | None
    jain_ratio: Spread


def measure_fan_outs(table: TrialTable) -> tuple[Answer[FanOut], ...]:
    """Every cell of conditions with messages and several numbers of streams at one window."""
    rules = Rules(flags=VOID_FLAGS, as_requested=True, needed=(MESSAGES.needed,), messages=True)
    answers = []
    for sample in select(table, rules):
        if sample.condition.get(MESSAGE_SIZE) is None or not MESSAGES.takes(sample.condition):
            continue
        carried = sample.exclude(~(MESSAGES.count(sample) > 0), f"{MESSAGES.needed}: {NOT_POSITIVE}")
        for window, every in carried.by_window():
            cells = [(streams, part) for streams, _, part in every.by_cell()]
            for streams, part in cells if len(cells) > 1 else ():
                answers.append(
                    make_cell_answer(part, (streams, window), _measure(part, streams, cells[0][1]))
                )
    return tuple(answers)


def _measure(part: Sample, sinks: int, fewest: Sample) -> FanOut:
    rates, size = MESSAGES.count(part), int(part.condition.get(MESSAGE_SIZE))
    _, ratio, interval = compare_message_rates(part, fewest)
    return FanOut(
        sinks=sinks,
        message_bytes=size,
        total_messages_per_s=measure_spread(rates),
        sink_messages_per_s=measure_spread(rates / sinks),
        throughput_bits_per_s=measure_spread(8 * size * rates),
        total_ratio=None if part is fewest else ratio,
        total_ratio_interval=None if part is fewest else interval,
        jain_ratio=measure_spread(part.fairness_ratio),
    )
