"""How one host is reached: what the campaign says of it, completed from ~/.ssh/config as `ssh` would."""

from __future__ import annotations

import getpass
import glob
import ipaddress
import re
import shlex
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import paramiko

from pathlab.errors import HostError, Stage

SSH_PORT = 22
INCLUDE_DEPTH_MAX = 16  # as OpenSSH's READCONF_MAX_DEPTH
JUMPS_MAX = 8
_SECTION = re.compile(r"\s*(host|match)(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_FAMILIES = {"inet": socket.AF_INET, "inet6": socket.AF_INET6}
_INCLUDE = re.compile(r"\s*include(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)


class HostAccess(Protocol):
    """What a campaign's table of a host says about reaching it; see its model. Nothing here changes it."""

    address: str | None
    user: str | None
    port: int | None
    key: str | None  # file of the private key
    jump: str | None
    password_env: str | None  # variable that holds the password
    python: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SshFiles:
    """The files of OpenSSH that are read: the user's folder and the system's."""

    user_folder: Path
    system_folder: Path = Path("/etc/ssh")

    @classmethod
    def of_user(cls) -> SshFiles:
        """Those of the user that runs this program."""
        return cls(user_folder=Path("~/.ssh").expanduser())


@dataclass(frozen=True, slots=True, kw_only=True)
class SshSettings:
    """Everything that opening one SSH connection needs; ``host`` is the name that messages use.

    ``jumps`` are passed in order; ``proxy_command`` replaces the TCP connection. ``explicit_key`` is the key
    that the campaign names and goes first; ``known_hosts`` are read in order, and the first takes new keys.
    """

    host: str
    address: str
    user: str
    port: int = SSH_PORT
    explicit_key: Path | None = None
    identity_files: tuple[Path, ...] = ()
    identities_only: bool = False
    password_env: str | None = None
    jumps: tuple[SshSettings, ...] = ()
    proxy_command: str | None = None
    host_key_alias: str | None = None
    known_hosts: tuple[Path, ...] = ()
    hash_known_hosts: bool = False
    family: socket.AddressFamily | None = None

    @property
    def known_name(self) -> str:
        """The name under which known_hosts lists the host."""
        name = self.host_key_alias or self.address.lower()  # as ssh does before it looks for a hashed name
        return name if self.port == SSH_PORT or self.host_key_alias else f"[{name}]:{self.port}"

    @property
    def login(self) -> str:
        """``user@address`` and the port where it is not 22, for messages."""
        return f"{self.user}@{self.address}" + (f":{self.port}" if self.port != SSH_PORT else "")


def read_settings(
    host: str, access: HostAccess | None, files: SshFiles, known: dict[str, HostAccess] | None = None
) -> SshSettings:
    """The settings for a host: the campaign's keys first, then ~/.ssh/config, then the system's file.

    ``known`` are the campaign's hosts, which a jump may name. HostError (stage connect) names a file that
    cannot be used, or jumps that lead in a circle.
    """
    try:
        return _read(host, access, files, known or {}, ())
    except (ValueError, RuntimeError) as error:  # open quotation marks, ~ of nobody
        raise _describe_bad_config(host, files, error) from error


def _read(
    host: str,
    access: HostAccess | None,
    files: SshFiles,
    known: dict[str, HostAccess],
    via: tuple[str, ...],
) -> SshSettings:
    if host in via or len(via) > JUMPS_MAX:
        raise _refusal(via[0], f"the jumps lead in a circle: {' via '.join((*via, host))}", "correct `jump`")
    alias = (access.address if access else None) or host
    own_name = _own_name(host)  # paramiko asks for it as well, whatever the files say
    table = _look_up(alias, host, access, files)
    jump = (access.jump if access else None) or str(table.get("proxyjump", "none"))
    jumps: tuple[SshSettings, ...] = ()
    if jump.lower() != "none":
        jumps = tuple(_read_jump(spec.strip(), files, known, (*via, host)) for spec in jump.split(","))
        # A jump's own jumps come first, so the chain is flat.
        jumps = tuple(step for item in jumps for step in (*item.jumps, replace(item, jumps=())))
    user = str(table.get("user") or own_name)
    port = _read_port(host, str(table.get("port", SSH_PORT)))
    address = str(table.get("hostname", alias))
    key = access.key if access else None
    return SshSettings(
        host=host,
        address=_strip_brackets(address),
        user=user,
        port=port,
        explicit_key=Path(key).expanduser() if key else None,
        identity_files=_read_identities(table.get("identityfile"), files),
        identities_only=str(table.get("identitiesonly", "no")).lower() == "yes",
        password_env=access.password_env if access else None,
        jumps=jumps,
        proxy_command=None if jumps else table.get("proxycommand"),
        host_key_alias=table.get("hostkeyalias"),
        known_hosts=_read_known_hosts(table, files),
        hash_known_hosts=str(table.get("hashknownhosts", "no")).lower() == "yes",
        family=_FAMILIES.get(str(table.get("addressfamily", "any")).lower()),
    )


def _read_jump(spec: str, files: SshFiles, known: dict[str, HostAccess], via: tuple[str, ...]) -> SshSettings:
    """``name`` of the campaign or of ~/.ssh/config, or ``[user@]host[:port]``."""
    spec = spec.removeprefix("ssh://")
    if spec in known:
        return _read(spec, known[spec], files, known, via)
    user, _, place = spec.rpartition("@")
    match = re.fullmatch(r"(\[[^\]]+\]|[^:]+)(?::(\d+))?", place)
    if match is None:
        raise _refusal(via[0], f"the jump '{spec}' is not understood", "write it as user@host:port")
    settings = _read(_strip_brackets(match.group(1)), known.get(match.group(1)), files, known, via)
    if user:
        settings = replace(settings, user=user)
    return replace(settings, port=_read_port(via[0], match.group(2))) if match.group(2) else settings


def _own_name(host: str) -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:  # a number that /etc/passwd does not know, as in some containers
        raise _refusal(host, "the account that runs PathLab has no name", "set LOGNAME") from error


def _read_port(host: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise _refusal(
            host, f"'{text}' is not a port", "correct the port in the campaign or in ~/.ssh/config"
        )
    return int(text)


def _strip_brackets(address: str) -> str:
    return address[1:-1] if address.startswith("[") and address.endswith("]") else address


def _read_identities(named: list[str] | None, files: SshFiles) -> tuple[Path, ...]:
    if named:
        return tuple(Path(name).expanduser() for name in named if name.lower() != "none")
    return tuple(files.user_folder / name for name in ("id_ed25519", "id_ecdsa", "id_rsa"))


def _read_known_hosts(table: dict[str, Any], files: SshFiles) -> tuple[Path, ...]:
    paths: list[Path] = []
    for key, usual in (
        ("userknownhostsfile", files.user_folder / "known_hosts"),
        ("globalknownhostsfile", files.system_folder / "ssh_known_hosts"),
    ):
        named = table.get(key)
        if named is None:
            paths += [usual, usual.with_name(f"{usual.name}2")]
        else:
            paths += [Path(name).expanduser() for name in shlex.split(named) if name.lower() != "none"]
    return tuple(paths)


def _look_up(alias: str, host: str, access: HostAccess | None, files: SshFiles) -> dict[str, Any]:
    # The first value counts, here and in what ProxyCommand and IdentityFile are filled in with.
    lines = ["Host *"]
    if access is not None and access.user:
        lines.append(f"User {access.user}")
    if access is not None and access.port:
        lines.append(f"Port {access.port}")
    for folder, name in ((files.user_folder, "config"), (files.system_folder, "ssh_config")):
        path = folder / name
        lines.append("Host *")
        lines += _expand(path, alias, folder, 0)
    try:
        return dict(paramiko.SSHConfig.from_text("\n".join(lines)).lookup(alias))
    except (paramiko.SSHException, ValueError, KeyError, OSError, ImportError) as error:
        raise _describe_bad_config(host, files, error) from error


def _expand(path: Path, alias: str, folder: Path, depth: int) -> Iterator[str]:
    """The lines of a file with its Includes put in place; those in a section that does not match are left.

    paramiko knows no Include. An included file may open sections of its own, so the section that stood around
    it is opened again behind it.
    """
    if depth > INCLUDE_DEPTH_MAX:
        return
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # as ssh does for files that it may not read
    section = "Host *"
    for line in text.splitlines():
        if _SECTION.match(line):
            section = line
        included = _INCLUDE.match(line)
        if included is None:
            yield line
        elif _matches(section, alias):
            for pattern in shlex.split(included.group(1)):
                for file in _find_files(pattern, folder):
                    yield "Host *"
                    yield from _expand(file, alias, folder, depth + 1)
            yield section


def _find_files(pattern: str, folder: Path) -> list[Path]:
    """As glob(7), which ssh uses: ``**`` is ``*``, and ``*`` finds no hidden file. ``Path.glob`` differs."""
    result = glob.glob(str(folder / Path(pattern).expanduser()))  # noqa: PTH207
    return sorted(path for path in map(Path, result) if path.is_file())


def _matches(section: str, alias: str) -> bool:
    try:
        probe = paramiko.SSHConfig.from_text(f"{section}\n  LogLevel PATHLAB\n").lookup(alias)
    except paramiko.SSHException:
        return False  # the whole text will be refused by name
    return bool(probe.get("loglevel") == "PATHLAB")


def is_numeric(address: str) -> bool:
    """Whether an address needs no look-up."""
    try:
        ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return True


def _describe_bad_config(host: str, files: SshFiles, error: BaseException) -> HostError:
    text = f"the SSH configuration cannot be used: {error}"
    return _refusal(host, text, f"correct {files.user_folder / 'config'}")


def _refusal(host: str, text: str, hint: str) -> HostError:
    return HostError(text, host=host, stage=Stage.CONNECT, hint=hint)
