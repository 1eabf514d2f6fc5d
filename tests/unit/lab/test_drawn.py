"""A lab as text and as a picture: everything is there, and nothing lies upon anything else."""

import io
from dataclasses import replace
from itertools import combinations

import pytest
from rich.console import Console

from pathlab.campaign.load import load_lab
from pathlab.lab.topology import Link, LinkSettings, Topology
from pathlab.report.hosts.lab_figure import draw_figure
from pathlab.report.hosts.lab_text import print_lab
from pathlab.runner.hosts.lab_topology import build_topology

ROUGH = LinkSettings(
    rate_bits_per_s=10**8,
    delay_ns=10**6,
    queue_bytes=250_000,
    loss_ratio=0.001,
    jitter_ns=2 * 10**6,
    reorder_ratio=0.01,
    duplicate_ratio=0.01,
    ecn_bytes=30_000,
    aqm="codel",
    cross_bits_per_s=2 * 10**7,
)
STAR = Topology(
    hosts=("a", "b", "c", "d"),
    routers=("hub",),
    links=(
        Link(between=("a", "hub")).with_direction(0, ROUGH),
        Link(between=("b", "hub"), rate_bits_per_s=10**9),
        Link(between=("hub", "c"), rate_bits_per_s=10**9),
        Link(between=("hub", "d"), rate_bits_per_s=10**9),
        Link(between=("d", "hub"), rate_bits_per_s=10**9, queue_bytes=10**6),
    ),
)


def print_lines(plan: Topology, width: int = 200) -> list[str]:
    screen = io.StringIO()
    print_lab(plan, Console(file=screen, width=width))
    return screen.getvalue().splitlines()


@pytest.mark.parametrize("name", ["bufferbloat", "star", "three-hops", "two-links"])
def test_words_lie_within_the_picture_and_apart(name: str) -> None:
    figure = draw_figure(STAR if name == "star" else build_topology(load_lab(name)), name)
    texts = [*figure.texts, *figure.axes[0].texts]
    boxes = [text.get_window_extent() for text in texts]
    for box in boxes:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_addresses_of_both_versions_stand_in_the_text() -> None:
    plan = build_topology(load_lab("three-hops"))
    assert "2001:2" not in "".join(print_lines(plan))
    shown = print_lines(replace(plan, ipv6=True))
    assert len(shown) == 7
    assert shown[2].split()[:2] == ["r1", "198.18.0.5"]
    assert shown[3].split() == ["2001:2:0:1::1", "2001:2:0:1::2"]
