"""What lost segments allow a congestion control to have in flight, and which of them ignore losses."""

from __future__ import annotations

import math

#: Congestion controls of this name and its variants take losses for no sign of a full path.
LOSS_BLIND_PREFIX = "bbr"
#: Congestion controls whose law of losses is known.
RENO, CUBIC = frozenset({"reno", "newreno"}), frozenset({"cubic"})
#: What CUBIC's window grows by, and what is left of it after a loss (RFC 9438, section 4.6 and 5).
CUBIC_C, CUBIC_BETA = 0.4, 0.7
#: Least retransmission timeout beyond the RTT (Linux, TCP_RTO_MIN).
TIMEOUT_LEAST_NS = 200e6


def ignores_losses(congestion: str | None) -> bool:
    """Whether this congestion control (its name as the kernel gives it) keeps its rate in spite of losses."""
    return congestion is not None and congestion.strip().lower().startswith(LOSS_BLIND_PREFIX)


def estimate_loss_window(congestion: str | None, loss_ratio: float, rtt_ns: float) -> float | None:
    """Segments in flight, on average, that independent losses of ``loss_ratio`` allow over ``rtt_ns``.

    Infinite without losses; None for a congestion control without a law here, or of unknown name.

    Notes
    -----
    Reno: Mathis et al. 1997 with the timeouts of Padhye et al. 1998, an acknowledgement for each segment as
    Linux counts them. CUBIC: the larger of its own law and its Reno-friendly one (RFC 9438, section 5.1),
    with the same timeouts. Losses in bursts count as one for the sender: it then carries more than this.
    Segments that SACK recovers without a timeout carry up to as much as without that term.
    """
    name = "" if congestion is None else congestion.strip().lower()
    if name not in RENO | CUBIC:
        return None
    if loss_ratio <= 0 or rtt_ns <= 0:
        return math.inf
    loss = min(1.0, loss_ratio)
    window = math.sqrt(1.5 / loss)
    if name in CUBIC:
        factor = (CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))) ** 0.25
        window = max(window, factor * (rtt_ns / 1e9 / loss) ** 0.75)
    rounds = 1 + TIMEOUT_LEAST_NS / rtt_ns
    timeouts = rounds * min(1.0, 3 * math.sqrt(3 * loss / 8)) * loss * (1 + 32 * loss**2)
    rounds_per_segment = 1 / window + timeouts
    return 1 / rounds_per_segment if rounds_per_segment else math.inf
