"""The signature of SHA256SUMS, by the SSH key that ``$PATHLAB_SIGNING_KEY`` names, if it names one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from release.commands import ReleaseError, require_programs, run_program

VARIABLE = "PATHLAB_SIGNING_KEY"
#: What the signature is for, so that it is valid for nothing else (``ssh-keygen -Y sign -n``).
NAMESPACE = "pathlab-release"
ENDING = ".sig"


def find_signing_key(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The key's file; None: nothing is signed. Raises ReleaseError where it cannot sign, before all work."""
    name = environment.get(VARIABLE)
    if not name:
        return None
    key = Path(name)
    if not key.is_file():
        raise ReleaseError(
            f"${VARIABLE} names '{key}', which is no file",
            "name an SSH private key, or the public one of a key that ssh-agent holds",
        )
    require_programs({"ssh-keygen": "openssh-client"})
    return key.absolute()


def sign(sums: Path, key: Path) -> Path:
    """Sign a file; the path of its signature. Raises ReleaseError: a wrong key, or no passphrase."""
    signature = sums.with_name(sums.name + ENDING)
    signature.unlink(missing_ok=True)
    run_program(["ssh-keygen", "-Y", "sign", "-f", key, "-n", NAMESPACE, sums])
    return signature
