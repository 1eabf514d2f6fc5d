"""What the page offers to pass on: command, Python code and link mean exactly the view that is shown."""

from __future__ import annotations

import ast
import itertools
import subprocess
from typing import Any

from tests.builders.explored import MARKUP
from tests.scripts.host import ScriptHost

TEXTS = (
    "x=streams&y=throughput_bits_per_s",
    "",
    'it\'s; $(touch /tmp/x) `id` "quoted" \\ back',
    "-rf",
    "~root *",
    f"a\nb{MARKUP}",
    "東京 🛰 é\x7f\x00",
)


def describe_sources(*sources: dict[str, str]) -> dict[str, Any]:
    return {"sources": list(sources)}


def test_a_shell_reads_the_command_as_it_is_meant(scripts: ScriptHost) -> None:
    shown = [text for text in TEXTS if "\0" not in text]
    for text, path in itertools.product(shown, ("results/a b", "-x", "it's", f"a/{MARKUP}")):
        command = scripts.evaluate(
            "([table, text]) => window.pathlabExplorer.share.writeCommand(table, text)",
            [describe_sources({"path": path, "name": "n"}, {"path": "", "name": "b"}), text],
        )
        line = f'pathlab() {{ printf "%s\\0" "$@"; }}; {command}'
        done = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
        opened = f"./{path}" if path.startswith("-") else path
        assert done.stdout.decode().split("\0") == ["view", opened, "b", text, ""]


def test_python_reads_the_code_as_it_is_meant(scripts: ScriptHost) -> None:
    for text in TEXTS:
        code = scripts.evaluate(
            "([table, text]) => window.pathlabExplorer.share.writePython(table, text)",
            [describe_sources({"path": text, "name": "n"}), text],
        )
        assert code.isascii()
        strings = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
        assert sorted(map(str, strings)) == sorted([text or "n", text])
        assert code.startswith("import pathlab\n\nfigure = pathlab.open(")
