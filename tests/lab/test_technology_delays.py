"""Technologies whose programs cannot state their sockets' options send each request at once all the same."""

import base64
from pathlib import Path

import pytest

from pathlab.agents.adapters.manifest import Manifest
from pathlab.remote.local import LocalTransport
from pathlab.remote.session import Session
from pathlab.store.hdr_histogram import Histogram
from tests.require import require_engine
from tests.technologies.builds import require_needs
from tests.technologies.test_contract import MANIFESTS, MS, SIZES, run_trial

pytestmark = pytest.mark.engine

#: Nagle's algorithm against delayed acknowledgements costs 40 ms.
MORE_MAX_NS = 30 * MS


def measure_median_ns(session: Session, manifest: Manifest, message_bytes: int) -> float:
    _, client = run_trial(session, manifest, message_bytes)
    stated = client.records[-1]["messages"]["round_trip_ns"]["hdr"]
    return Histogram.decode(base64.b64decode(stated)).quantile_ns(0.5)


@pytest.mark.parametrize(
    "name", [name for name, found in MANIFESTS.items() if (found.protocol, found.language) == ("tcp", "pipe")]
)
def test_no_reply_waits_for_an_acknowledgement(name: str) -> None:
    require_needs(MANIFESTS[name])
    with Session(LocalTransport(engine=Path(require_engine())), host="local") as session:
        for message_bytes in SIZES:
            usual_ns = measure_median_ns(session, MANIFESTS["tcp-python"], message_bytes)
            assert measure_median_ns(session, MANIFESTS[name], message_bytes) < usual_ns + MORE_MAX_NS
