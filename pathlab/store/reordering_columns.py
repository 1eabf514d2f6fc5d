"""The columns of what TCP saw of reordering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderingColumns:
    """Part of ``TrialRecord``. Of MPTCP, sums over all subflows."""

    reordering_seen_events: Annotated[
        int | None,
        "how often the sender's kernel saw that segments had been reordered, whole trial (tcpi_reord_seen)",
    ] = None
    dsack_duplicate_segments: Annotated[
        int | None,
        "segments that the receiver had already, as its DSACKs state to the sender, whole trial "
        "(tcpi_dsack_dups)",
    ] = None
    out_of_order_segments: Annotated[
        int | None,
        "segments that came to the receiver's kernel before an earlier one, whole trial (tcpi_rcv_ooopack)",
    ] = None
    spurious_retransmission_ratio: Annotated[
        float | None,
        "dsack_duplicate_segments of retransmitted_segments; above 1 where the network duplicates; empty: "
        "nothing was retransmitted",
    ] = None
