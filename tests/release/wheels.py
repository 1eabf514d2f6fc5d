"""What a wheel and a source distribution have to hold."""

import hashlib
import json
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

from pathlab.cli.main import SUBCOMMANDS
from tests.checkout import list_tracked_files

#: Folders of the checkout that are packages inside ``pathlab``.
LINKED = {"agents", "analysis", "campaigns"}
#: What only `make check` reads.
CHECKED_ALONE = {"pathlab/web/types.d.ts"}


def check_sources(distribution: Path) -> None:
    """A source distribution holds what makes a wheel, and nothing that was built or only tests."""
    with tarfile.open(distribution) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    links = {f"pathlab/{name}" for name in LINKED}
    folders = ("pathlab", *LINKED, "native", "docs", "examples", "requirements")
    expected = list_tracked_files(
        *folders, "*.md", "LICENSE", "setup.py", "pyproject.toml", "build_backend.py"
    )
    wanted = {name for name in expected if not name.startswith("tests/")} - links - CHECKED_ALONE
    assert wanted - names == set()
    assert not any(name.startswith(("native/build/", "tests/")) or "__pycache__" in name for name in names)


def check_engines(wheel: Path) -> set[str]:
    """The machines of the engines in a wheel: each engine may be executed, and has the manifest's digest."""
    with zipfile.ZipFile(wheel) as archive:
        digests = json.loads(archive.read("pathlab/_native/engines.json"))
        for machine, digest in digests.items():
            entry = archive.getinfo(f"pathlab/_native/pathlab-engine-{machine}")
            assert entry.external_attr >> 16 & 0o111, "the engine is executable"
            assert hashlib.sha256(archive.read(entry)).hexdigest() == digest
        engines = {name for name in archive.namelist() if "_native/pathlab-engine-" in name}
    assert len(engines) == len(digests)
    return set(digests)


def check_content(wheel: Path) -> None:
    """Every file is there, once."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert [name for name, count in Counter(names).items() if count > 1] == []
    sources = {name.removeprefix("native/") for name in list_tracked_files("native/src/*.*")}
    assert {name.removeprefix("pathlab/_native/") for name in names if "_native/src/" in name} == sources
    for name in list_tracked_files("agents/adapters/*.*"):
        assert f"pathlab/{name}" in names  # those that are no Python too: hosts build them
    for folder in ("pathlab", *sorted(LINKED)):
        prefix = "" if folder == "pathlab" else "pathlab/"
        for name in list_tracked_files(f"{folder}/*.py"):
            if not any(name.startswith(f"pathlab/{linked}/") for linked in LINKED):
                assert prefix + name in names
    for name in ("pathlab/py.typed", "pathlab/campaigns/quickstart.toml", "pathlab/campaigns/SCHEMA.md"):
        assert name in names
    assert any(name.startswith("pathlab/report/templates/") for name in names)
    assert not any(name.startswith(("tests/", "agents/", "analysis/", "campaigns/")) for name in names)
    pages = {name.partition(".data/data/share/man/")[2] for name in names} - {""}
    commands = {f"man1/pathlab-{name}.1" for name in SUBCOMMANDS}
    assert pages == {"man1/pathlab.1", "man1/pathlab-engine.1", "man5/pathlab-campaign.5", *commands}
