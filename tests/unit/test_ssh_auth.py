"""Private keys of every kind that ssh-keygen writes, and secrets that are asked for once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import paramiko
import pytest

from pathlab.remote.ssh_auth import Secrets

PASSPHRASE = "pass and word"


def make_key(folder: Path, kind: str, passphrase: str = "") -> Path:
    path = folder / "key"
    words = {"rsa-pem": ["-t", "rsa", "-b", "2048", "-m", "PEM"]}.get(kind, ["-t", kind])
    subprocess.run(["ssh-keygen", "-q", "-N", passphrase, "-f", str(path), *words], check=True)
    return path


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa-pem"])
@pytest.mark.parametrize("passphrase", ["", PASSPHRASE])
def test_keys_are_read_and_only_locked_ones_ask(tmp_path: Path, kind: str, passphrase: str) -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return PASSPHRASE

    path, secrets = make_key(tmp_path, kind, passphrase), Secrets(ask)
    for _ in range(2):
        key = secrets.load_key(path)
        assert isinstance(key, paramiko.PKey)
        public = Path(f"{path}.pub").read_text().split()[1]
        assert key.get_base64() == public
    assert len(asked) == (1 if passphrase else 0)


def test_a_passphrase_that_stays_wrong_is_given_up(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return "wrong"

    path, secrets = make_key(tmp_path, "ed25519", PASSPHRASE), Secrets(ask)
    for _ in range(2):  # the second host that wants the key does not ask again
        assert secrets.load_key(path) == "its passphrase was wrong 3 times"
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [("no key at all", "no key that can be used"), (None, "no such file")],
)
def test_what_is_no_key_is_told(tmp_path: Path, text: str | None, told: str) -> None:
    path = tmp_path / "key"
    if text is not None:
        path.write_text(text)
    assert told in str(Secrets().load_key(path))


def test_passwords_are_asked_once_a_login_and_anew_when_they_were_wrong() -> None:
    answers = iter(["first", "second", "third"])
    secrets = Secrets(lambda _question: next(answers))
    assert [secrets.password("me@a"), secrets.password("me@a"), secrets.password("me@b")] == [
        "first",
        "first",
        "second",
    ]
    secrets.forget("me@a")
    assert secrets.password("me@a") == "third"
    assert Secrets().password("me@a") is None
