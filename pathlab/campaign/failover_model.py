"""The ``[failover]`` table: which link the factor ``failover`` lets fail, and when."""

from __future__ import annotations

import hashlib
from typing import Annotated

from pydantic import Field

from pathlab.campaign.file_table import FileTable
from pathlab.campaign.multipath_factors import LINKS_MAX
from pathlab.campaign.quantities import COUNT, HOUR_NS, RATIO, TIME, Bounds
from pathlab.units import SECOND_NS


class FailoverSettings(FileTable):
    """The link between two hosts that fails, at a moment of the steady window that is drawn from the seed."""

    link: Annotated[int | None, Bounds(COUNT, 1, LINKS_MAX)] = Field(
        None, description="Number of the link that fails; left out: drawn from the seed for each trial."
    )
    earliest_ratio: Annotated[float, Bounds(RATIO)] = Field(
        0.3, alias="earliest", description="Share of the steady window before which it does not fail."
    )
    latest_ratio: Annotated[float, Bounds(RATIO)] = Field(
        0.4, alias="latest", description="Share of the steady window after which it does not fail."
    )
    return_after_ns: Annotated[int | None, Bounds(TIME, SECOND_NS // 100, HOUR_NS)] = Field(
        None, alias="return_after", description="Time after which it works again; left out: it does not."
    )

    def draw_offset_ns(self, seed: int, row: int, duration_ns: int) -> int:
        """The moment of a row's failure from the start of its steady window: the same for the same seed."""
        share = self.earliest_ratio + _draw(seed, row, "moment") * (self.latest_ratio - self.earliest_ratio)
        return int(share * duration_ns)

    def draw_link(self, seed: int, row: int, count: int) -> int:
        """The place (from 0) of the link that fails, of ``count`` links."""
        if self.link is not None:
            return self.link - 1
        return min(count - 1, int(_draw(seed, row, "link") * count))


def _draw(seed: int, row: int, what: str) -> float:
    """A number in [0, 1) that no library's version can change."""
    digest = hashlib.sha256(f"failover {what} {seed} {row}".encode("ascii")).digest()
    return float(int.from_bytes(digest[:6], "big")) / float(1 << 48)
