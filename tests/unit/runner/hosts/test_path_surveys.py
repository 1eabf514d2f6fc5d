"""Surveys of paths: what they report, and which differences count."""

from pathlab.discover.mtu import PathMtu
from pathlab.runner.hosts.path_surveys import list_changes
from tests.builders.paths import sample_capacity, sample_report


def mtu_of(mtu_bytes: int | None) -> PathMtu:
    return PathMtu(mtu_bytes=mtu_bytes, first_link_bytes=1500, limited_by=None, black_hole=False, reason=None)


def test_the_same_path_twice_has_not_changed() -> None:
    assert list_changes(sample_report(), sample_report()) == []


def test_what_was_not_found_is_no_change() -> None:
    before = sample_report()
    assert list_changes(before, sample_report(mtu=mtu_of(None), capacity=None)) == []
    assert list_changes(sample_report(mtu=None, capacity=None), before) == []
    undecided = sample_report(capacity=sample_capacity((None, None, None)))
    assert list_changes(undecided, undecided) == []
