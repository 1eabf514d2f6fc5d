"""The synthetic results that golden files are made from, imported in one place."""

from tests.builders.comparisons import compare, make_results
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.foreign_files import TEXTS, write_sample
from tests.builders.messages import make_message_results
from tests.builders.multipath import UNEQUAL, Bonds, make_multipath_results
from tests.builders.results import (
    LAB,
    SyntheticResults,
    make_campaign,
    make_quickstart,
    write_results,
)
from tests.builders.sections import QUICK
from tests.builders.sweeps import make_sweep
from tests.builders.technologies import (
    FACTS,
    Facts,
    make_technology_results,
)
from tests.builders.trials import make_failed

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
