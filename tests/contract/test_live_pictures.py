"""The pictures of README: what a terminal shows of stored results, and what is cut out of a window."""

import io
import re
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from tests.builders.results import make_quickstart, write_results
from tools.screenshots import crop_page, reduce_colours, show_live
from tools.terminal import render_screen, run_in_terminal

LEVELS = [(1, 65536), (4, 65536), (8, 262144)]


def test_the_live_view_stops_in_the_middle_of_a_trial(tmp_path: Path) -> None:
    folder = write_results(make_quickstart(cycles=2, levels=LEVELS), tmp_path / "results")
    text = "\n".join(show_live(folder, 120).display)
    assert "3/6" in text  # the last that has ended
    assert "trial 4/6" in text
    running = text.split("combination")[1]
    assert re.search(r"\d Mbit/s .*RTT \d\S* ms \(idle .* retransmissions", running)


def test_a_terminal_has_its_width_and_its_colours() -> None:
    words = (
        "print('\\x1b[2mdim\\x1b[0m \\x1b[1;31m<red>\\x1b[0m \\x1b[38;2;1;2;3mx\\x1b[0m',"
        " __import__('os').get_terminal_size().columns)"
    )
    screen = run_in_terminal([sys.executable, "-c", words], 60, 5)
    assert screen.display[0].rstrip() == "dim <red> x 60"
    page = render_screen(screen, "a & b")
    assert '<span style="opacity: .65">dim</span>' in page
    assert '<span style="color: #e06c75; font-weight: bold">&lt;red&gt;</span>' in page
    assert '<span style="color: #010203">x</span> 60</pre>' in page
    assert "<h1>a &amp; b</h1>" in page
    with pytest.raises(SystemExit, match=r"ended with status 7:\nno such thing"):
        run_in_terminal(["sh", "-c", "echo no such thing; exit 7"], 80, 24)


def encode(image: Image.Image) -> bytes:
    kept = io.BytesIO()
    image.save(kept, "png")
    return kept.getvalue()


def test_a_printed_page_is_cut_out_of_the_viewer() -> None:
    viewer = Image.new("RGB", (300, 400), (40, 40, 40))
    draw = ImageDraw.Draw(viewer)
    assert crop_page(encode(viewer)) is None  # before the first page
    draw.rectangle((50, 3, 199, 302), fill="white")
    assert crop_page(encode(viewer)) is None  # before its text
    draw.rectangle((90, 90, 110, 95), fill="black")
    draw.rectangle((20, 310, 229, 399), fill="white")  # the next page, across
    draw.rectangle((285, 0, 299, 399), fill="white")  # the scroll bar
    found = crop_page(encode(viewer))
    assert found is not None
    with Image.open(io.BytesIO(found)) as page:
        assert page.size == (75, 150)


def test_the_colour_of_a_small_marker_stays() -> None:
    page = Image.radial_gradient("L").convert("RGB")  # more shades than a small file has colours for
    ImageDraw.Draw(page).rectangle((10, 10, 14, 14), fill=(213, 94, 0))
    found = reduce_colours(page).convert("RGB").getpixel((12, 12))
    assert found == pytest.approx((213, 94, 0), abs=10)
