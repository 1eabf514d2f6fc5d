"""Names of addresses from the controller's resolver; measurement and results do without them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable

TIMEOUT_S = 3.0


def look_up_names(addresses: Iterable[str], timeout_s: float = TIMEOUT_S) -> dict[str, str]:
    """The names that were found in time, by address; all are looked up at once."""
    result: dict[str, str] = {}

    def look_up(address: str) -> None:
        try:
            result[address] = socket.gethostbyaddr(address)[0]
        except OSError:
            return  # it has none, or its server does not say

    # Daemons, because a resolver may take far longer than anybody waits.
    threads = [
        threading.Thread(target=look_up, args=(address,), daemon=True) for address in sorted(set(addresses))
    ]
    for thread in threads:
        thread.start()
    deadline_s = time.monotonic() + timeout_s
    for thread in threads:
        thread.join(max(0.0, deadline_s - time.monotonic()))
    return dict(result)
