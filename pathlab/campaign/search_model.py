"""The ``[search]`` table: the highest rate of UDP whose loss stays at or below a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pathlab.campaign.file_table import FileTable
from pathlab.campaign.quantities import COUNT, RATE, RATIO, Bounds

if TYPE_CHECKING:
    from pathlab.analysis.planning.loss_search import SearchRule

#: ``pathlab.analysis.planning.loss_search.TRIALS_BEFORE_VERDICT``, which takes long to import.
TRIALS_LEAST = 3


class SearchSettings(FileTable):
    """The search for the highest rate with little loss: in each cycle one for every combination and path.

    Its trials set the factor `pacing`. See docs/LOSSLESS-RATE.md.
    """

    loss_ratio: Annotated[float, Bounds(RATIO)] = Field(
        alias="loss", description="The loss that is still accepted, as a share of the packets sent."
    )
    lowest_bits_per_s: Annotated[int, Bounds(RATE, 1000, 10**12)] = Field(
        alias="lowest", description="The lowest rate that is tried (payload, all streams together)."
    )
    highest_bits_per_s: Annotated[int, Bounds(RATE, 1000, 10**12)] = Field(
        alias="highest", description="The highest rate that is tried."
    )
    resolution_ratio: Annotated[float, Bounds(RATIO)] = Field(
        0.02, alias="resolution", description="How far apart the two rates that hold the answer may be."
    )
    trials_max: Annotated[int, Bounds(COUNT, TRIALS_LEAST, 100)] = Field(
        5, description="Trials at one rate after which it is undecided; the first look is after three."
    )
    burst: Annotated[int, Bounds(COUNT, 1, 10_000)] = Field(
        4,
        description="Packets that are lost together at least, in the statistics: without a loss seen, a rate "
        "needs as many times the packets.",
    )
    scale: Literal["log", "linear"] = Field("log", description="Scale on which the range of rates is halved.")

    @model_validator(mode="after")
    def _check_range(self) -> SearchSettings:
        text = None
        if self.lowest_bits_per_s >= self.highest_bits_per_s:
            text = "lowest is not below highest; expected a range of rates"
        elif not 0 < self.loss_ratio <= 0.5:
            text = "no search ends at this loss; expected one above 0, at most 50 %"
        elif not 0.001 <= self.resolution_ratio <= 0.5:
            text = "this resolution cannot be reached; expected one from 0.1 % to 50 %"
        if text is not None:
            raise PydanticCustomError("search_range", "{text}", {"text": text})
        return self

    @property
    def rule(self) -> SearchRule:
        """What the search's decisions follow."""
        from pathlab.analysis.planning.loss_search import SearchRule  # with numpy, after the checks

        return SearchRule(
            loss_ratio=self.loss_ratio,
            lowest_bits_per_s=self.lowest_bits_per_s,
            highest_bits_per_s=self.highest_bits_per_s,
            resolution_ratio=self.resolution_ratio,
            trials_max=self.trials_max,
            burst_packets=self.burst,
            scale=self.scale,
        )
