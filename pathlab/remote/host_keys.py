"""Whether a server is the one it says it is: known_hosts, read and extended as OpenSSH does.

Plain and hashed names, patterns with ``*``, ``?`` and ``!``, ``[name]:port``, ``@revoked``. Keys signed by an
authority (``@cert-authority``) are passed over, since no certificate of a host is understood.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import fcntl
import fnmatch
import hashlib
import hmac
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import paramiko

from pathlab.errors import HostError, Stage

_MARKERS = ("@revoked", "@cert-authority")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """One line of a known_hosts file that is about the host; ``place`` is ``file:line``."""

    place: str
    marker: str
    kind: str
    key: bytes


def find_known_keys(name: str, files: Sequence[Path]) -> list[KnownKey]:
    """Every line about ``name`` (``host`` or ``[host]:port``), in the order of files and lines.

    Files that are not there hold nothing. OSError for one that cannot be read.
    """
    return [known for file in files for known in _read_file(name, file)]


def _read_file(name: str, file: Path) -> Iterator[KnownKey]:
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        marker = words.pop(0) if words and words[0] in _MARKERS else ""
        if len(words) < 3 or words[0].startswith("#") or not _names(words[0], name):
            continue
        with contextlib.suppress(binascii.Error, ValueError):
            key = base64.b64decode(words[2], validate=True)
            yield KnownKey(place=f"{file}:{number}", marker=marker, kind=words[1], key=key)


def _names(field: str, name: str) -> bool:
    if field.startswith("|1|"):
        return _is_hash_of(field, name)
    patterns = field.lower().split(",")
    if any(
        pattern.startswith("!") and fnmatch.fnmatchcase(name.lower(), _literal(pattern[1:]))
        for pattern in patterns
    ):
        return False
    return any(fnmatch.fnmatchcase(name.lower(), _literal(pattern)) for pattern in patterns)


def _literal(pattern: str) -> str:
    """Brackets are brackets in known_hosts, around a name with a port."""
    return pattern.replace("[", "[[]")


def _is_hash_of(field: str, name: str) -> bool:
    parts = field.split("|")
    try:
        salt, wanted = base64.b64decode(parts[2]), base64.b64decode(parts[3])
    except (IndexError, binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), wanted)


def order_key_types(preferred: Sequence[str], known: Sequence[KnownKey]) -> tuple[str, ...]:
    """The same algorithms with those first whose kind of key is known, so that the server shows that one."""
    kinds = {entry.kind for entry in known if not entry.marker}
    return tuple(sorted(preferred, key=lambda name: _kind_of(name) not in kinds))


def _kind_of(algorithm: str) -> str:
    return "ssh-rsa" if algorithm in ("rsa-sha2-256", "rsa-sha2-512") else algorithm


def check_host_key(host: str, name: str, key: paramiko.PKey, known: Sequence[KnownKey]) -> bool:
    """True when the key is known, False when nothing is known of the server.

    HostError (stage host key) when the key is revoked, or is another one than known_hosts has.
    """
    shown = key.asbytes()
    shown_key = f"{key.get_name()} {fingerprint(key)}"
    for entry in known:
        if entry.marker == "@revoked" and entry.key == shown:
            raise _refusal(
                host,
                f"the key of {name} ({shown_key}) is revoked by {entry.place}",
                "do not connect; ask the administrator of the host",
            )
    trusted = [entry for entry in known if not entry.marker]
    if any(entry.key == shown for entry in trusted):
        return True
    if trusted:
        same_kind = [entry for entry in trusted if entry.kind == key.get_name()] or trusted
        raise _refusal(
            host,
            f"the key of {name} has changed: it shows {shown_key}, but {same_kind[0].place} has another one",
            f"if the host was set up anew, remove that line (ssh-keygen -R '{name}'); else someone may be "
            "listening in",
        )
    return False


def describe_unknown_key(host: str, name: str, key: paramiko.PKey, files: Sequence[Path]) -> HostError:
    file = files[0] if files else "known_hosts"
    return _refusal(
        host,
        f"{name} is not in {file}; it shows {key.get_name()} {fingerprint(key)}",
        "compare that fingerprint, then connect once with ssh, or use --accept-new-host-keys",
    )


def fingerprint(key: paramiko.PKey) -> str:
    """``SHA256:…``, as ssh-keygen -l prints it."""
    digest = hashlib.sha256(key.asbytes()).digest()
    return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def add_host_key(file: Path, name: str, key: paramiko.PKey, *, hashed: bool) -> None:
    """Append one line, whole or not at all, also when two programs do so at once. OSError when it cannot."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shown = paramiko.HostKeys.hash_host(name) if hashed else name
    line = f"{shown} {key.get_name()} {base64.b64encode(key.asbytes()).decode('ascii')}\n".encode()
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        if os.write(descriptor, line) != len(line):
            os.ftruncate(descriptor, size)
            raise OSError(f"only a part of the line was written to {file}")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refusal(host: str, text: str, hint: str) -> HostError:
    return HostError(text, host=host, stage=Stage.HOST_KEY, hint=hint)
