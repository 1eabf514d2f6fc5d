"""Private keys of every kind that ssh-keygen writes, and secrets that are asked for once."""

import os
import pty
import subprocess
import termios
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest

from pathlab.remote.ssh_auth import Secrets
from pathlab.remote.terminal import ask_secret

PASSPHRASE = "pass and word"


def make_key(folder: Path, kind: str, passphrase: str = "") -> Path:
    path = folder / "key"
    words = {"rsa-pem": ["-t", "rsa", "-b", "2048", "-m", "PEM"]}.get(kind, ["-t", kind])
    subprocess.run(["ssh-keygen", "-q", "-a", "1", "-N", passphrase, "-f", str(path), *words], check=True)
    return path


@pytest.mark.parametrize(
    ("kind", "passphrase"), [("ed25519", ""), ("ed25519", PASSPHRASE), ("ecdsa", ""), ("rsa-pem", PASSPHRASE)]
)
def test_keys_are_read_and_only_locked_ones_ask(tmp_path: Path, kind: str, passphrase: str) -> None:
    requested: list[str] = []

    def ask(question: str) -> str:
        requested.append(question)
        return PASSPHRASE

    path, secrets = make_key(tmp_path, kind, passphrase), Secrets(ask)
    for _ in range(2):
        key = secrets.load_key(path)
        assert isinstance(key, paramiko.PKey)
        public = Path(f"{path}.pub").read_text().split()[1]
        assert key.get_base64() == public
    assert len(requested) == (1 if passphrase else 0)


def test_a_passphrase_that_stays_wrong_is_given_up(tmp_path: Path) -> None:
    requested: list[str] = []

    def ask(question: str) -> str:
        requested.append(question)
        return "wrong"

    path, secrets = make_key(tmp_path, "ed25519", PASSPHRASE), Secrets(ask)
    for _ in range(2):  # the second host that wants the key does not ask again
        assert secrets.load_key(path) == "its passphrase was wrong 3 times"
    assert len(requested) == 3


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (b"se cret\n", "se cret"),
        (b"wrong\x15right\n", "right"),  # Ctrl-U
        (b"\x04", EOFError),  # Ctrl-D
        (b"sec\x03", KeyboardInterrupt),  # Ctrl-C
    ],
)
def test_a_secret_is_read_unseen_and_ctrl_c_ends_the_question_on_any_thread(
    typed: bytes, answer: str | type[BaseException]
) -> None:
    screen, terminal = pty.openpty()
    try:
        with ThreadPoolExecutor(1) as pool:
            requested = pool.submit(ask_secret, "Secret: ", os.ttyname(terminal))
            shown = b""
            while b"Secret: " not in shown:
                shown += os.read(screen, 100)
            os.write(screen, typed)
            if isinstance(answer, str):
                assert requested.result(60) == answer
            else:
                assert isinstance(requested.exception(60), answer)
        shown += os.read(screen, 100)
        assert shown == b"Secret: \r\n"
        assert termios.tcgetattr(terminal)[3] & termios.ECHO
    finally:
        os.close(screen)
        os.close(terminal)


def test_after_ctrl_c_nobody_else_asks() -> None:
    requested: list[str] = []

    def interrupt(question: str) -> str:
        requested.append(question)
        raise KeyboardInterrupt

    secrets = Secrets(interrupt)
    with pytest.raises(KeyboardInterrupt):
        secrets.password("me@alpha")
    assert secrets.password("me@beta") is None
    assert len(requested) == 1


def test_a_question_that_is_not_answered_is_nobody_to_be_asked(tmp_path: Path) -> None:
    def end(_question: str) -> str:
        raise EOFError

    secrets = Secrets(end)
    assert secrets.password("me@alpha") is None
    assert "use an SSH agent" in str(secrets.load_key(make_key(tmp_path, "ed25519", PASSPHRASE)))


@pytest.mark.parametrize(
    ("text", "reported"), [("no key at all", "not a usable key"), (None, "no such file")]
)
def test_what_is_no_key_is_reported(tmp_path: Path, text: str | None, reported: str) -> None:
    path = tmp_path / "key"
    if text is not None:
        path.write_text(text)
    assert reported in str(Secrets().load_key(path))


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
