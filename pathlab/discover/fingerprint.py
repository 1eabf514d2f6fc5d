"""A route in one short text, by which trials say whether their routes were the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

#: Format 1, without a prefix, covered the method, the target and the hops of every flow.
FINGERPRINT_FORMAT = "pathlab-route-2"
FINGERPRINT_PREFIX = "2:"
FINGERPRINT_CHARACTERS = 32
#: A hop that did not answer, in what the fingerprint covers: part of the format, whatever tables show.
_SILENT = "*"


def hash_hops(hops: Sequence[Sequence[str]]) -> str:
    """A route's stable fingerprint: its format, a colon and 32 hexadecimal digits over the hops of one flow.

    A route is identified by its first flow, whose ports do not depend on the number of flows. Silent hops at
    the end are left out: how many of them are tried depends on the other flows. Fingerprints of another
    format never compare as equal.
    """
    sequence = [sorted(addresses) for addresses in hops]
    while sequence and not sequence[-1]:
        sequence.pop()
    text = json.dumps(
        [FINGERPRINT_FORMAT, [addresses or [_SILENT] for addresses in sequence]], separators=(",", ":")
    )
    return FINGERPRINT_PREFIX + hashlib.sha256(text.encode("ascii")).hexdigest()[:FINGERPRINT_CHARACTERS]
