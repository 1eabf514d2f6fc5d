"""Writes the tables of technologies into docs/TECHNOLOGIES.md, from their manifests.

Run it after a change: ``python tools/technologies_table.py``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from pathlab.agents.adapters.manifest import Manifest, read_manifests

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "TECHNOLOGIES.md"
BEGIN, END = "<!-- begin: python tools/technologies_table.py -->", "<!-- end -->"
#: Packages that every Debian machine has.
ESSENTIAL = {"perl-base"}
SOURCES = ("debian", "pip")
WIDTH = 118
LANGUAGES = {"c": "C", "c++": "C++", "python": "Python", "java": "Java", "pipe": "any, behind a pipe"}


def make_page() -> str:
    """The page's text with the tables as the manifests have them now."""
    technologies = read_manifests([ROOT / "agents" / "adapters"]).values()
    generated = "\n".join(_list_lines(list(technologies)))
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{generated}\n\n{END}", text, flags=re.DOTALL)


def list_packages(technologies: Iterable[Manifest], source: str) -> list[str]:
    """What the technologies need from ``debian`` or ``pip``, sorted."""
    return sorted(
        {need[source] for technology in technologies for need in technology.needs if source in need}
    )


def _list_lines(technologies: list[Manifest]) -> Iterator[str]:
    yield "| name | technology | over | language | baseline | in addition | without | its own benchmark |"
    yield "|---|---|---|---|---|---|---|---|"
    for item in technologies:
        benchmark = f"`{item.benchmark}`" if item.benchmark else ""
        baseline = f"`{item.baseline}`" if item.baseline else ""
        cells = [f"`{item.name}`", item.title, item.beneath.upper(), LANGUAGES[item.language], baseline]
        yield f"| {' | '.join([*cells, '; '.join(item.adds), '; '.join(item.lacks), benchmark])} |"
    yield ""
    yield "## Packages"
    yield ""
    yield "| name | Debian packages | packages of PyPI | what it cannot do |"
    yield "|---|---|---|---|"
    for item in technologies:
        debian, python = (
            ", ".join(f"`{name}`" for name in list_packages([item], source)) for source in SOURCES
        )
        limits = "; ".join(f"{limit['what']} (`{limit['constraint']}`)" for limit in item.limits)
        yield f"| `{item.name}` | {debian} | {python} | {limits} |"
    yield ""
    yield "All of them, on a Debian machine, without those that every Debian has:"
    yield ""
    words = [name for name in list_packages(technologies, "debian") if name not in ESSENTIAL]
    lines = textwrap.wrap(f"apt-get install {' '.join(words)}", WIDTH, break_on_hyphens=False)
    yield "    " + " \\\n        ".join(lines)


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
