"""The analyses that compare the levels of one factor as methods of results."""

from __future__ import annotations

from collections.abc import Iterable

from pathlab.study.base.answer import Answer
from pathlab.study.base.registry import AnalysesBase, AnswerColumn, analysis
from pathlab.study.comparison.levels import LevelComparison
from pathlab.study.comparison.releases import (
    RecordingCost,
    ReleaseRatio,
    compare_recordings,
    compare_releases,
    describe_recordings,
    describe_releases,
)


class LevelAnalyses(AnalysesBase):
    """Builds of the engine, configurations and levels of recording, compared in pairs of a cycle."""

    @analysis(
        "Builds and configurations compared",
        AnswerColumn("combination", "part"),
        AnswerColumn("metric", "metric"),
        AnswerColumn("compared", "name"),
        AnswerColumn("pairs", "pairs"),
        AnswerColumn("ratio", "ratio", "factor"),
        AnswerColumn("95 % CI (Holm)", "interval", "factor"),
        AnswerColumn("noise", "noise_ratio", "factor", detail="noise_interval"),
        AnswerColumn("verdict", "verdict", wraps=True),
        AnswerColumn("undecided", "reason", wraps=True),
        per="combination and metric",
    )
    def releases(self, factor: str | None = None) -> Iterable[Answer[ReleaseRatio]]:
        """Levels of ``build``, or of another factor, against the first, in pairs of a cycle, with a verdict.

        ``factor``: a key of the campaign file; by default the one that the campaign names with ``compare``.
        The builds ``this`` and ``again`` give the noise floor. Corrected (Holm) over all rows.
        """
        return describe_releases(self.compare_releases(factor))

    @analysis(
        "Cost of recording",
        AnswerColumn("combination", "part"),
        AnswerColumn("rate", "rate"),
        AnswerColumn("recording", "level"),
        AnswerColumn("pairs", "pairs"),
        AnswerColumn("cost", "cost_ratio"),
        AnswerColumn("95 % CI (Holm)", "interval_ratio"),
        AnswerColumn("verdict", "verdict", wraps=True),
        AnswerColumn("undecided", "reason", wraps=True),
        per="combination and level of recording",
    )
    def observer_cost(self) -> Iterable[Answer[RecordingCost]]:
        """By which share recording lowers throughput or message rate, against ``recording = "off"``."""
        return describe_recordings(self.compare_recordings())

    def compare_releases(self, factor: str | None = None) -> LevelComparison | None:
        """The comparison that ``releases`` gives the rows of; None where nothing was compared."""
        return compare_releases(self.study_table(), self.study_source.campaign.model, factor)

    def compare_recordings(self) -> LevelComparison | None:
        """The comparison that ``observer_cost`` gives the rows of; None where nothing was compared."""
        return compare_recordings(self.study_table())
