"""How long tests wait for something that must happen, scaled with the machine's load when they began.

Such a limit only ends a test that fails already; a hang is found by the limit of each test (pyproject.toml).
"""

import os

_IDLE_S = 60.0
_MOST = 4.0


def measure_load() -> float:
    """Runnable processes per core in the latest minute, at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


#: What must happen at once on an idle machine may take this long.
PATIENCE_S = _IDLE_S * min(_MOST, measure_load())
