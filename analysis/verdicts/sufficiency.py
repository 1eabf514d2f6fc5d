"""Share of a path's capacity that a sufficient setting carries."""

from __future__ import annotations

#: METHOD section 2 (streams-sweep) asks for the smallest setting that reaches 90 %.
SUFFICIENT_RATIO = 0.9
