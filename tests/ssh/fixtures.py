"""One lab with SSH servers for all tests of a process, and connections into it.

``tests/conftest.py`` loads this file as a plugin.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.require import require_engine, require_namespaces
from tests.ssh.lab import SHELLS, SshLab
from tests.ssh.reach import Reach

ACCOUNTS = (*SHELLS, "chatty", "silent", "noexec", "readonly", "full", "odd", "many")


@pytest.fixture(scope="session")
def ssh_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshLab]:
    require_namespaces()
    require_engine()
    folder = tmp_path_factory.mktemp("ssh")
    folder.chmod(0o755)
    with SshLab(folder, ["a", "b"], ACCOUNTS) as lab:
        yield lab


@pytest.fixture
def reach(ssh_lab: SshLab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reach]:
    monkeypatch.setenv("PATHLAB_ENGINE", str(Path(require_engine()).absolute()))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with Reach(ssh_lab) as opened:
        yield opened
