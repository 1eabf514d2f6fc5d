"""The analyses of round trips by technology, as methods of results."""

from __future__ import annotations

from collections.abc import Iterable

from pathlab.campaign.technologies import list_technologies
from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import UNDECIDED, AnswerColumn, analysis
from pathlab.study.base.trials import Condition
from pathlab.study.messages.latency_analyses import (
    OFFERED,
    TAIL_HEADINGS,
    LatencyAnalyses,
    build_quantile_column,
)
from pathlab.study.messages.message_latency import MessageLatency
from pathlab.study.messages.message_setups import MESSAGE_RATE
from pathlab.study.messages.round_trips import LoadTail, measure_tails
from pathlab.study.technologies.background import LoadedRoundTrips, compare_loads
from pathlab.study.technologies.technology_overhead import TechnologyOverhead, measure_overheads
from pathlab.study.technologies.technology_round_trips import (
    Facts,
    TechnologyGroup,
    TechnologyRoundTrips,
    list_technology_groups,
    measure_technologies,
)

_TECHNOLOGY = AnswerColumn("technology", "technology")
_SIZE = AnswerColumn("size", "message_bytes")
_GROUP = AnswerColumn("setting", "group", meaning="placement, cores, background load and priority")


class TechnologyAnalyses(LatencyAnalyses):
    """Round trips of technologies alongside those of PathLab's own transports."""

    #: Manifests by name; None: those that are installed.
    technology_facts: Facts | None = None
    _groups: tuple[TechnologyGroup, ...] | None = None

    @analysis(
        "Round trips by technology",
        _TECHNOLOGY,
        _SIZE,
        _GROUP,
        OFFERED,
        AnswerColumn("n", "trials"),
        AnswerColumn("p50", "median_ns", meaning="of the trials' medians"),
        AnswerColumn("minimum", "least_ns"),
        AnswerColumn("mean", "mean_ns"),
        AnswerColumn("maximum", "most_ns"),
        *map(build_quantile_column, range(1, len(TAIL_HEADINGS))),
        AnswerColumn("CPU asking", "asking_cpu_ns.median", meaning="CPU time per request of the asking end"),
        AnswerColumn("CPU answering", "answering_cpu_ns.median", meaning="with broker and responder"),
        AnswerColumn("missed", "missed", meaning="trials that did not keep the offered rate, left out"),
        AnswerColumn("language", "language"),
        AnswerColumn("in addition", lambda answer: answer.result.adds or None),
        AnswerColumn("versions", "versions"),
        UNDECIDED,
        per="technology, size of messages and setting",
    )
    def technologies(self) -> Iterable[Answer[TechnologyRoundTrips]]:
        """Round trips of every technology and transport, from the least median to the largest of each size.

        p50 is the median of the trials' medians. Higher quantiles are of all trials with equal weight, as far
        as 10 round trips lie above. Intervals are over the trials, since round trips that follow each other
        are alike.
        """
        tails = measure_tails(self.study_source, self.study_table(), equal_trials=True)
        return measure_technologies(self.technology_groups(), tails, self._read_facts())

    @analysis(
        "Overhead over the transport beneath",
        _TECHNOLOGY,
        _SIZE,
        _GROUP,
        AnswerColumn("beneath", "beneath", meaning="the transport of PathLab's engine with the least median"),
        AnswerColumn("pairs", "median.first_n"),
        AnswerColumn("factor of median", "median.ratio", "factor", detail="median.interval_ratio"),
        AnswerColumn("factor of p99", "p99.ratio", "factor", detail="p99.interval_ratio"),
        AnswerColumn("language", "language"),
        AnswerColumn("language's share", "language_share_ratio", meaning="of the time added to the median"),
        AnswerColumn("cycles of share", lambda answer: answer.result.share_cycles or None),
        AnswerColumn("undecided", "median.undecided", wraps=True),
        per="technology, size of messages and setting",
    )
    def technology_overhead(self) -> Iterable[Answer[TechnologyOverhead]]:
        """By what factor a technology's round trips are longer than those of the transport beneath it.

        In pairs of a cycle, over the fastest transport of PathLab's own engine with the same size, placement,
        cores, background load and priority.
        """
        return measure_overheads(self.technology_groups(), self._read_facts())

    @analysis(
        "Round trips under load and with priority",
        _TECHNOLOGY,
        _SIZE,
        _GROUP,
        AnswerColumn("metric", "ratio.metric"),
        AnswerColumn("compared", "compared"),
        AnswerColumn("pairs", "ratio.pairs"),
        AnswerColumn("ratio", "ratio.ratio", "factor"),
        AnswerColumn("95 % CI (Holm)", "ratio.interval", "factor"),
        AnswerColumn("verdict", "ratio.verdict", wraps=True),
        AnswerColumn("undecided", "ratio.reason", wraps=True),
        AnswerColumn("weak loads", "weak", meaning="trials whose load had less than its least share"),
        AnswerColumn("load", "load", meaning="what the background load did, the median over trials"),
        per="technology, size of messages, setting and metric",
    )
    def loaded_round_trips(self) -> Iterable[Answer[LoadedRoundTrips]]:
        """Round trips under background load against none, with real-time priority against without.

        In pairs of a cycle; corrected (Holm) over all rows of a metric and path, background load and priority
        apart. Undecided where the load was weak in more than half of the trials.
        """
        return compare_loads(self.study_table())

    def technology_groups(self) -> tuple[TechnologyGroup, ...]:
        """The loads that are compared with each other, found once."""
        if self._groups is None:
            self._groups = list_technology_groups(self.study_table())
        return self._groups

    def is_of_technologies(self, item: object) -> bool:
        """Whether this is of messages one after the other on a path where a technology was measured so.

        ``item`` has a ``setup`` and the offered rate; a knee or a front is of offered rates.
        """
        if not isinstance(item, MessageLatency | LoadTail) or item.offered_messages_per_s is not None:
            return False
        return item.setup.path in self.technology_paths()

    def is_condition_of_technologies(self, condition: Condition) -> bool:
        """Whether this is a condition of such messages."""
        path = condition.path_source, condition.path_destination, condition.medium
        asked = condition.get("reply") and condition.get(MESSAGE_RATE) is None
        return bool(asked) and path in self.technology_paths()

    def technology_paths(self) -> frozenset[tuple[str, str, str]]:
        """The paths on which technologies were asked one request after the other."""
        return frozenset(
            group.loads[0].load.setup.path
            for group in self.technology_groups()
            if group.offered_messages_per_s is None
        )

    def _read_facts(self) -> Facts:
        return list_technologies() if self.technology_facts is None else self.technology_facts

    def reread(self) -> None:
        """As of the base, and the groups."""
        super().reread()
        self._groups = None
