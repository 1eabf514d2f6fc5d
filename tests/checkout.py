"""The files of this checkout that are, or may be, committed."""

import subprocess
from pathlib import Path

from tests.require import require

ROOT = Path(__file__).resolve().parents[1]


def list_tracked_files(*patterns: str) -> set[str]:
    """Files of the checkout that are, or may be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    require(listed.returncode == 0, "git and a checkout")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def copy_checkout(source: Path) -> Path:
    """Copy every tracked file, links as links."""
    for name in list_tracked_files():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.symlink_to((ROOT / name).readlink())
        else:
            target.write_bytes((ROOT / name).read_bytes())
    return source
