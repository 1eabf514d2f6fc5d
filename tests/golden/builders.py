"""The synthetic results that golden files are made from, imported in one place."""

from tests.unit.message_results import make_message_results
from tests.unit.multipath_results import UNEQUAL, Bonds, make_multipath_results
from tests.unit.report.section_samples import QUICK
from tests.unit.store.import_samples import TEXTS, write_sample
from tests.unit.study.comparison.comparison_samples import compare, make_results
from tests.unit.study.datagram_trials import carry_flow, make_udp_trials
from tests.unit.study.trials import make_sweep
from tests.unit.synthetic_results import (
    LAB,
    SyntheticResults,
    make_campaign,
    make_failed,
    make_quickstart,
    write_results,
)
from tests.unit.technology_results import (
    FACTS,
    Facts,
    make_technology_results,
)

__all__ = [
    "FACTS",
    "LAB",
    "QUICK",
    "TEXTS",
    "UNEQUAL",
    "Bonds",
    "Facts",
    "SyntheticResults",
    "carry_flow",
    "compare",
    "make_campaign",
    "make_failed",
    "make_message_results",
    "make_multipath_results",
    "make_quickstart",
    "make_results",
    "make_sweep",
    "make_technology_results",
    "make_udp_trials",
    "write_results",
    "write_sample",
]
