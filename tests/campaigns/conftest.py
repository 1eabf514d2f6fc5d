"""Campaigns that run in this process find this machine calibrated."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _calibrated(calibrated_once: None) -> None: ...


@pytest.fixture(autouse=True)
def _brief(brief_glance: None) -> None: ...
