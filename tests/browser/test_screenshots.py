"""Every picture of README and of the report's page, made by one command from stored results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageStat

from tests.builders.results import make_quickstart, write_results
from tests.require import require_chromium
from tools.screenshots import COLUMNS, DESK, EXPLORER, PHONE, ROOT

LEVELS = [(1, 65536), (4, 65536), (8, 262144)]
TOTAL_MAX_BYTES = 700_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(
        make_quickstart(cycles=2, levels=LEVELS), tmp_path_factory.mktemp("stored") / "results"
    )


def measure_brightness(picture: Image.Image) -> float:
    return ImageStat.Stat(picture.convert("L")).mean[0]


def test_one_command_makes_every_picture(folder: Path, tmp_path: Path) -> None:
    require_chromium()
    out = tmp_path / "images"
    words = [sys.executable, "-m", "tools.screenshots", str(folder), str(folder), "--out", str(out)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pictures = {path.stem: Image.open(path) for path in sorted(out.iterdir())}
    assert set(pictures) == {
        *("report", "report-phone", "report-dark", "report-print", "compare", "explorer", "explorer-dark"),
        *(f"live-{columns}" for columns in COLUMNS),
    }
    assert (pictures["report"].size, pictures["report-phone"].size) == (DESK, PHONE)
    assert pictures["explorer"].size == EXPLORER
    assert measure_brightness(pictures["explorer-dark"]) < 60 < measure_brightness(pictures["explorer"])
    assert measure_brightness(pictures["report-dark"]) < 60 < measure_brightness(pictures["report"])
    assert pictures["live-60"].width < pictures["live-80"].width < pictures["live-120"].width
    for name, picture in pictures.items():
        assert ImageStat.Stat(picture.convert("L")).stddev[0] > 5, f"{name} is empty"
        picture.close()
    assert sum(path.stat().st_size for path in out.iterdir()) < TOTAL_MAX_BYTES
    assert all(str(out / f"{name}.png") in done.stdout for name in pictures)
