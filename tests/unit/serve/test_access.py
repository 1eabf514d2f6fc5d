"""Secrets of a server: one-time tokens, sessions, the key for programs."""

import stat
import threading
from pathlib import Path

import pytest

from pathlab.serve.access import AccessKeys, write_key_file


def test_a_token_opens_one_session_and_is_replaced() -> None:
    fresh: list[str] = []
    keys = AccessKeys(fresh.append)
    first = keys.token
    session = keys.redeem(first)
    assert keys.knows_session(session)
    assert keys.redeem(first) is None
    assert fresh == [keys.token]
    second = keys.redeem(keys.token)
    assert keys.knows_session(session)  # the first browser stays
    assert keys.knows_session(second)
    assert len({first, *fresh, session, second, keys.key}) == 6


def test_nothing_else_is_a_secret_and_none_is_taken_for_another() -> None:
    keys = AccessKeys()
    session = keys.redeem(keys.token)
    others = ("", "x", "é", "\udcff", "a" * 100_000)
    assert [keys.redeem(given) for given in (*others, keys.key, session)] == [None] * 7
    assert not any(keys.knows_session(given) for given in (*others, keys.token, keys.key))
    assert not any(keys.is_key(given) for given in (*others, keys.token, session))
    assert keys.is_key(keys.key)


def test_of_many_who_use_a_token_at_once_one_gets_in() -> None:
    keys = AccessKeys()
    token, given = keys.token, []
    barrier = threading.Barrier(8)

    def use() -> None:
        barrier.wait()
        given.append(keys.redeem(token))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(session is not None for session in given) == 1


@pytest.mark.parametrize("runtime", [True, False])
def test_the_key_file_is_private_and_goes_with_the_server(
    runtime: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path if runtime else tmp_path / "none"))
    with write_key_file("secret") as path:
        assert path.read_text(encoding="ascii") == "Authorization: Bearer secret\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert path.is_relative_to(tmp_path) == runtime
    assert not path.parent.exists()
