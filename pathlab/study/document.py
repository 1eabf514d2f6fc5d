"""All analyses of a results file as one document for machines: ``pathlab analyze --json``.

Version 1. The document's keys: ``document`` ("pathlab-analysis"), ``version``, ``program_version``,
``campaign`` (name, title, digest, seed), ``trials`` (stored, complete, and, over all conditions, used,
excluded and with warnings, each by reason), ``analyses``: by the name of the method, a list
of answers as ``Answer`` names their fields; ``references``: the same by the name of each
published table that was compared with the results (none unless requested). Enums are their values, numbers
that are not finite (an infinite AICc, a missing value) are null, and no key is ever left out for want of a
value. A version only grows: a field that changes its meaning or goes makes a new one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

import numpy as np

from pathlab._version import VERSION
from pathlab.analysis.verdicts.limits import FlowVerdict
from pathlab.store.flags import Status
from pathlab.study.analyses import Analyses
from pathlab.study.base.registry import ANALYSES, choose_analyses
from pathlab.study.base.selection import survey_table
from pathlab.study.base.trials import Condition

DOCUMENT = "pathlab-analysis"
DOCUMENT_VERSION = 1


def build_analysis_document(
    study: Analyses, names: Iterable[str] = (), references: Mapping[str, str | None] = MappingProxyType({})
) -> dict[str, Any]:
    """The document of these analyses (none named: of all), of values that JSON can hold.

    ``references``: published tables to compare with the results, each with one of its columns (None: all).
    """
    campaign = study.study_source.campaign
    status, selection = study.study_table().frame["status"], survey_table(study.study_table())
    return {
        "document": DOCUMENT,
        "version": DOCUMENT_VERSION,
        "program_version": VERSION,
        "campaign": {
            "name": campaign.name,
            "title": campaign.title,
            "digest": campaign.digest,
            "seed": campaign.seed,
        },
        "trials": {
            "stored": len(status),
            "complete": int((status == Status.COMPLETE).sum()),
            "used": selection.used,
            "excluded": encode(selection.excluded),
            "warnings": encode(selection.warnings),
        },
        "analyses": {name: encode(ANALYSES[name](study)) for name in choose_analyses(names)},
        "references": {
            name: encode(study.against_reference(name, column)) for name, column in references.items()
        },
    }


def encode(value: Any) -> Any:
    """A figure, or a frozen dataclass of figures, as JSON holds it; what is not finite becomes None.

    Of a flow's verdict, streams keep limit and reason; their evidence is with ``Analyses.limits``.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, FlowVerdict):
        streams = [
            {"limit": encode(stream.limit), "undecided": encode(stream.undecided)} for stream in value.streams
        ]
        return {"flow": encode(value.flow), "streams": streams}
    if isinstance(value, Condition):
        named = {field.name: encode(getattr(value, field.name)) for field in fields(value)}
        return named | {"settings": {name: encode(item) for name, item in value.settings}}
    if is_dataclass(value):
        shown = (field.name for field in fields(value) if field.repr)  # without what tests work on
        return {name: encode(getattr(value, name)) for name in shown}
    if isinstance(value, Mapping):
        return {str(encode(key)): encode(item) for key, item in value.items()}
    if all(type(entry) is float for entry in value):
        return [entry if math.isfinite(entry) else None for entry in value]
    return [encode(entry) for entry in value]
