"""agents/adapters/CONTRACT.md: its example runs as printed, and its tables are those of the programs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pathlab.agents.adapters import answering
from pathlab.agents.adapters.manifest import _KEYS, read_manifest_file
from tests.technologies.programs import read_until, tell

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "agents" / "adapters"
PAGE = (ADAPTERS / "CONTRACT.md").read_text(encoding="utf-8")


def read_example() -> str:
    (text,) = re.findall(r"^```python\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def read_table(heading: str) -> list[list[str]]:
    """The rows of the table with that first line; of each the texts in backticks of the first column."""
    body = PAGE.partition(f"\n{heading}\n")[2].partition("\n\n")[0]
    assert body, heading
    return [re.findall(r"`([\w-]+)`", line.split("|")[1]) for line in body.splitlines()[1:]]


def start(path: Path, role: str, **settings: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(path), role, json.dumps(settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ADAPTERS)},
    )


def test_the_example_measures_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "pickled.py"
    path.write_text(read_example(), encoding="utf-8")
    (manifest,) = read_manifest_file(str(path), read_example())
    assert (manifest.name, manifest.baseline) == ("pickled", "tcp-python")
    with start(path, "answer", name="pickled") as server:
        port = read_until(server, "listening")["port"]
        with start(path, "ask", name="pickled", port=port, requests=100, streams=2) as client:
            tell(client, "go")
            result = read_until(client, "result")
        tell(server, "stop")
        assert read_until(server, "result")["complete"] is True
    assert (result["complete"], result["messages"]["received"]) == (True, [50, 50])
    assert (client.returncode, server.returncode) == (0, 0)


def test_the_page_names_every_key_of_a_manifest() -> None:
    named = [key for row in read_table("| key | value |") for key in row]
    assert sorted(named) == sorted([*_KEYS, "variants"])


def test_the_page_names_every_setting() -> None:
    named = {key for row in read_table("| setting | default | |") for key in row}
    source = (ROOT / "native" / "src" / "adapter" / "plan.c").read_text(encoding="utf-8")
    assert named == set(re.findall(r'^        \{"(\w+)", ', source, re.MULTILINE))


def test_the_page_explains_every_stage() -> None:
    named = [stage for row in read_table("| stage | what is wrong | what to do |") for stage in row]
    assert sorted(named) == sorted(answering.STAGES)
