"""Bonds of a host. Their texts: tests/golden/agents/test_texts.py."""

from pathlib import Path

import pytest

from pathlab.agents.facts import collect_requested
from pathlab.agents.probes.bonds import FOLDER, MAX_BONDS, read_bonds
from pathlab.agents.protocol import MessageError
from pathlab.agents.source import Source
from tests.builders.kernel_texts import read_kernel_text


def test_bonds_of_a_host_by_name(tmp_path: Path) -> None:
    assert read_bonds(Source(str(tmp_path))) == {}  # a kernel without bonding: nothing to report
    folder = tmp_path / FOLDER.lstrip("/")
    folder.mkdir(parents=True)
    text = read_kernel_text("bonding-lacp")
    for number in (*range(MAX_BONDS), 99):
        (folder / f"bond{number:02}").write_text(text)
    (folder / "bond00").write_text("???")
    source = Source(str(tmp_path))
    bonds = read_bonds(source)
    assert len(bonds) == MAX_BONDS - 1
    assert bonds["bond01"]["address"] is None
    assert [reason.partition(":")[0] for reason in source.reasons] == ["bond99", f"{FOLDER}/bond00"]


def test_a_request_may_name_the_facts_that_it_wants() -> None:
    facts = collect_requested({"probes": ["bonds", "memory"]})
    assert [*facts] == ["bonds", "memory", "unread"]
    assert "kernel" in collect_requested({})
    with pytest.raises(MessageError, match="'nic'"):
        collect_requested({"probes": ["nic"]})
