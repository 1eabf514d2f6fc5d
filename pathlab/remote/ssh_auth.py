"""Proving who we are to an SSH server: agent, keys, password; secrets are asked once and never shown."""

from __future__ import annotations

import base64
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko

from pathlab.errors import HostError, Stage
from pathlab.remote.ssh_config import SshSettings

PASSPHRASE_TRIES = 3


class Secrets:
    """Passwords and passphrases of one run, each asked for once; one question at a time.

    ``ask`` shows its text and returns what was typed, without echo; None where nobody can be asked.
    """

    def __init__(self, ask: Callable[[str], str] | None = None) -> None:
        self._ask = ask
        self._known: dict[str, str] = {}
        self._keys: dict[Path, paramiko.PKey | str] = {}
        self._lock = threading.RLock()

    def password(self, login: str) -> str | None:
        """The password of ``user@host``; None where nobody can be asked."""
        with self._lock:
            if login not in self._known:
                answer = self._put_question(f"Password of {login}: ")
                if answer is not None:
                    self._known[login] = answer
            return self._known.get(login)

    def forget(self, login: str) -> None:
        """Drop a password that was wrong, so that the next connection asks anew."""
        with self._lock:
            self._known.pop(login, None)

    def load_key(self, path: Path) -> paramiko.PKey | str:
        """A private key, its passphrase asked for if it has one; or why it cannot be used."""
        with self._lock:
            if path in self._keys:
                return self._keys[path]
            self._keys[path] = self._load(path)  # refusals too: nobody is asked again for every host
            return self._keys[path]

    def _put_question(self, text: str) -> str | None:
        try:
            return None if self._ask is None else self._ask(text)
        except EOFError:
            return None  # Ctrl-D: there is no answer
        except KeyboardInterrupt:
            self._ask = None  # nor are other hosts to ask while everything ends
            raise

    def _load(self, path: Path) -> paramiko.PKey | str:
        passphrase: str | None = None
        for answers in range(1 + PASSPHRASE_TRIES):
            try:
                return _read_key(path, passphrase)
            except _PassphraseNeededError:
                if answers == PASSPHRASE_TRIES:
                    break
                passphrase = self._put_question(f"Passphrase of {path}: ")
                if passphrase is None:
                    return "needs a passphrase and there is no terminal to ask for it; use an SSH agent"
            except OSError as error:
                return (error.strerror or str(error)).lower()
            except (paramiko.SSHException, ValueError, TypeError) as error:
                return f"is not a usable key ({type(error).__name__})"
        return f"its passphrase was wrong {PASSPHRASE_TRIES} times"


class _PassphraseNeededError(Exception):
    """The key is encrypted and the passphrase is missing or wrong."""


def _read_key(path: Path, passphrase: str | None) -> paramiko.PKey:
    encrypted = _is_encrypted(path)
    if encrypted and not passphrase:
        raise _PassphraseNeededError
    failure: Exception | None = None
    for kind in (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey):
        try:
            key = kind.from_private_key_file(str(path), password=passphrase if encrypted else None)
        except (paramiko.SSHException, ValueError, TypeError) as error:
            failure = error
            continue
        certificate = Path(f"{path}-cert.pub")
        if certificate.is_file():
            key.load_certificate(str(certificate))
        return key
    if encrypted:
        raise _PassphraseNeededError
    assert failure is not None
    raise failure


def _is_encrypted(path: Path) -> bool:
    """Whether a private key file needs a passphrase (PEM header, or cipher of the openssh-key-v1 format)."""
    text = path.read_bytes()
    if b"ENCRYPTED" in text:
        return True
    if b"BEGIN OPENSSH PRIVATE KEY" not in text:
        return False
    body = b"".join(line for line in text.splitlines() if not line.startswith(b"-----"))
    with contextlib.suppress(ValueError):
        raw = base64.b64decode(body)
        magic = b"openssh-key-v1\0"
        if raw.startswith(magic):
            size = int.from_bytes(raw[len(magic) : len(magic) + 4], "big")
            return raw[len(magic) + 4 : len(magic) + 4 + size] != b"none"
    return False


@dataclass(slots=True)
class _Attempt:
    """What happened while authenticating, for the one line when it fails."""

    tried: list[str]
    unusable: list[str]


def authenticate(transport: paramiko.Transport, settings: SshSettings, secrets: Secrets) -> None:
    """Log in. HostError (stage authentication) names what was tried and the next step, never a secret."""
    attempt = _Attempt(tried=[], unusable=[])
    try:
        allowed = _ask_methods(transport, settings.user)
        if allowed and "publickey" in allowed:
            allowed = _try_keys(transport, settings, secrets, attempt)
        if allowed and {"password", "keyboard-interactive"} & set(allowed):
            allowed = _try_password(transport, settings, secrets, attempt)
    except (paramiko.SSHException, EOFError, OSError) as error:
        attempt.unusable.append(f"the server ended the connection ({str(error) or type(error).__name__})")
        allowed = ["?"]
    if not transport.is_authenticated():
        raise _refusal(settings, attempt, allowed or [])


def _ask_methods(transport: paramiko.Transport, user: str) -> list[str]:
    try:
        transport.auth_none(user)
    except paramiko.BadAuthenticationType as error:
        return list(error.allowed_types)
    return []


def _try_keys(
    transport: paramiko.Transport, settings: SshSettings, secrets: Secrets, attempt: _Attempt
) -> list[str]:
    """Try every key; the methods that are left to try, none when logged in."""
    allowed = ["publickey"]
    with contextlib.ExitStack() as stack:
        for label, key in _list_keys(settings, secrets, attempt, stack):
            attempt.tried.append(label)
            try:
                rest = list(transport.auth_publickey(settings.user, key))
            except paramiko.BadAuthenticationType as error:
                return list(error.allowed_types)
            except paramiko.AuthenticationException:
                if not transport.is_active():
                    raise
                continue
            return rest  # a second factor, or nothing more
    with contextlib.suppress(paramiko.AuthenticationException):
        allowed = _ask_methods(transport, settings.user)
    return [method for method in allowed if method != "publickey"]


def _list_keys(
    settings: SshSettings, secrets: Secrets, attempt: _Attempt, stack: contextlib.ExitStack
) -> Iterator[tuple[str, paramiko.PKey]]:
    agent = paramiko.Agent()
    stack.callback(agent.close)
    held = {key.asbytes(): key for key in agent.get_keys()}
    offered: set[bytes] = set()
    files = (settings.explicit_key,) if settings.explicit_key else settings.identity_files
    for path in files:  # a key that the agent holds needs no passphrase
        public = _read_public_key(path)
        if public is not None and public in held and public not in offered:
            offered.add(public)
            yield f"key {path} (of the agent)", held[public]
    if settings.explicit_key is None and not settings.identities_only:
        for public, key in held.items():
            if public not in offered:
                offered.add(public)
                yield f"the agent's {key.get_name()}", key
    for path in files:
        if _read_public_key(path) in offered:
            continue
        if settings.explicit_key is None and not path.exists():
            continue
        loaded = secrets.load_key(path)
        if isinstance(loaded, str):
            attempt.unusable.append(f"key {path}: {loaded}")
        else:
            yield f"key {path}", loaded


def _read_public_key(path: Path) -> bytes | None:
    try:
        words = Path(f"{path}.pub").read_text(encoding="utf-8", errors="replace").split()
        return paramiko.PublicBlob.from_string(" ".join(words[:2])).key_blob if len(words) > 1 else None
    except (OSError, ValueError, paramiko.SSHException):
        return None


def _try_password(
    transport: paramiko.Transport, settings: SshSettings, secrets: Secrets, attempt: _Attempt
) -> list[str]:
    variable = settings.password_env
    if variable is not None:
        password = os.environ.get(variable)
        label = f"password in ${variable}"
        if password is None:
            attempt.unusable.append(f"the environment variable {variable} is not set")
            return ["password"]
    else:
        password, label = secrets.password(settings.login), "password"
        if password is None:
            return ["password"]
    attempt.tried.append(label)
    try:
        transport.auth_password(settings.user, password)
    except paramiko.AuthenticationException:
        secrets.forget(settings.login)
        return ["password"]
    return []


def _refusal(settings: SshSettings, attempt: _Attempt, allowed: list[str]) -> HostError:
    tried = ", ".join(attempt.tried) or "no usable key or password"
    text = f"the server refused {settings.login}; tried: {tried}"
    if attempt.unusable:
        text += f"; {'; '.join(attempt.unusable)}"
    hint = "try `ssh` with the same host; set user, key or password_env of the host, or use an SSH agent"
    if not attempt.tried and "password" in allowed:
        hint = "name a key with `key`, or the variable that holds the password with `password_env`"
    return HostError(text, host=settings.host, stage=Stage.AUTHENTICATION, hint=hint)
