"""Eight kinds of results, as a user sees them: printed at 80 columns, as Markdown and as JSON."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pathlab.report.comparison.comparison import build_comparison
from pathlab.report.comparison.comparison_table import render_comparison
from pathlab.report.comparison.comparison_text import describe_comparison
from pathlab.store.importing import read_file, store_files
from pathlab.store.results import Results
from pathlab.study.analyses import StudiedResults
from tests.builders.comparisons import compare, make_results
from tests.builders.datagrams import carry_flow, make_udp_trials
from tests.builders.foreign_files import TEXTS, write_sample
from tests.builders.messages import make_message_results
from tests.builders.multipath import UNEQUAL, Bonds, make_multipath_results
from tests.builders.printed import print_text
from tests.builders.results import LAB, make_campaign, make_quickstart
from tests.builders.sweeps import make_sweep
from tests.builders.technologies import FACTS, make_technology_results
from tests.builders.trials import make_failed
from tests.golden.conftest import Golden
from tests.golden.results.rendering import (
    COLUMNS,
    Files,
    join_commands,
    render_json,
    render_page,
    render_results,
    render_study,
)

KIB = 1024
WRITTEN_S = 1_767_323_045  # 2026-01-02T03:04:05Z


def render_tcp() -> Files:
    """Few cycles, and a trial that failed."""
    results = make_quickstart(cycles=2)
    results.records[3] = make_failed(results.records[3], reason="the receiver refused the connection")
    return render_results(results)


def render_windows() -> Files:
    """Enough cycles to decide between many combinations of streams and window."""
    levels = [(streams, size * KIB) for size in (16, 64, 128) for streams in (1, 2, 4, 8, 12)]
    return render_results(make_sweep(8, levels=levels, environment={"lab": LAB}))


def render_udp() -> Files:
    flows: list[dict[str, Any]] = [
        {"pacing_bits_per_s": 32e6},
        {"pacing_bits_per_s": 64e6},
        {"gso": True},
        {},
    ]
    return render_results(make_udp_trials(flows, carry_flow, cycles=6))


def render_messages() -> Files:
    rates = (None, 1_000, 20_000, 100_000, 200_000)
    return render_results(make_message_results(sizes=(64,), rates=rates, cycles=6, histograms=True))


def render_technologies() -> Files:
    return render_results(make_technology_results(cycles=6, samples=1000), FACTS)


def render_multipath() -> Files:
    return render_results(make_multipath_results(Bonds(rates=UNEQUAL, cycles=6)))


def render_compared() -> Files:
    """Of two combinations one got slower and the other did not; then too few trials to say."""
    found = compare(make_results(seed=1), make_results(seed=2, rate=0.9, rtt=1.2))
    few = compare(make_results(seed=1, cycles=3), make_results(seed=2, cycles=3))
    printed = {
        "pathlab compare BEFORE AFTER": print_text(
            lambda console: render_comparison(found, console), COLUMNS
        ),
        "pathlab compare FEW FEW": print_text(lambda console: render_comparison(few, console), COLUMNS),
    }
    return {
        "txt": join_commands(printed),
        "md": render_page(build_comparison(found)),
        "json": render_json(describe_comparison(found)),
    }


def render_imported() -> Files:
    """A file of every format that is imported."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [write_sample(folder, sample) for sample in TEXTS]
        for path in paths:  # where a format has no time of its own, the file's is taken
            os.utime(path, (WRITTEN_S, WRITTEN_S))
        files = [read_file(path) for path in paths]
        campaign = make_campaign(name="imported", model={"imported": True}, environment={})
        with Results.create(folder / "imported", campaign, ()) as results:
            store_files(results, files)
        with StudiedResults.open(folder / "imported") as stored:
            return render_study(stored)


KINDS: Mapping[str, Callable[[], Files]] = {
    "tcp": render_tcp,
    "windows": render_windows,
    "udp": render_udp,
    "messages": render_messages,
    "technologies": render_technologies,
    "multipath": render_multipath,
    "compared": render_compared,
    "imported": render_imported,
}
render = cache(lambda kind: KINDS[kind]())


@pytest.mark.parametrize("ending", ["txt", "md", "json"])
@pytest.mark.parametrize("kind", KINDS)
def test_results_look_as_before(kind: str, ending: str, golden: Golden) -> None:
    golden(f"{kind}.{ending}", render(kind)[ending])
