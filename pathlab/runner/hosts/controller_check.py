"""What this machine can and cannot do for PathLab, and how to fix it; the logic of ``pathlab doctor``.

A lab is built and taken down. As a host, this machine is checked as ``pathlab hosts check`` checks any.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import metadata

from pathlab import __version__
from pathlab.errors import PathlabError
from pathlab.host_names import LOCAL
from pathlab.lab.namespaces import Namespaces
from pathlab.remote.local import LocalTransport
from pathlab.runner.hosts.facts_check import HostCheck, check_limit
from pathlab.runner.hosts.host_check import check_host, describe_failure, measure_hosts, open_host
from pathlab.units import format_bytes

LIBRARIES = (
    "numpy",
    "scipy",
    "matplotlib",
    "paramiko",
    "scapy",
    "pyarrow",
    "SQLAlchemy",
    "pydantic",
)
FREE_BYTES_MIN = 200 << 20


def examine() -> Iterator[HostCheck]:
    """Every check in turn; each one is yielded as soon as it is known, and none can fail the others."""
    yield HostCheck(
        "PathLab", "ok", f"{__version__} on Python {platform.python_version()}, Linux {platform.release()}"
    )
    for check in (
        _libraries,
        _pdf,
        _host,
        _namespaces,
        _tun,
        _disk,
    ):
        yield from _guarded(check)


def _guarded(check: Callable[[], Iterator[HostCheck]]) -> Iterator[HostCheck]:
    try:
        yield from check()
    except PathlabError as error:
        yield describe_failure(error, check.__name__.strip("_"))
    except OSError as error:
        yield HostCheck(check.__name__.strip("_"), "missing", f"{error.strerror}: {error.filename}")


def _libraries() -> Iterator[HostCheck]:
    result, missing = [], []
    for name in LIBRARIES:
        try:
            result.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    yield HostCheck(
        "libraries",
        "missing" if missing else "ok",
        ", ".join(result) + (f"; missing: {', '.join(missing)}" if missing else ""),
        f"{sys.executable} -m pip install {' '.join(missing)}" if missing else None,
    )


def _pdf() -> Iterator[HostCheck]:
    try:
        yield HostCheck("PDF", "ok", f"weasyprint {metadata.version('weasyprint')}")
    except metadata.PackageNotFoundError:
        yield HostCheck(
            "PDF", "limited", "weasyprint is not installed", f"{sys.executable} -m pip install weasyprint"
        )


def _host() -> Iterator[HostCheck]:
    """What ``hosts check`` says of this machine."""
    host = open_host(LocalTransport(), LOCAL)
    with contextlib.closing(host.session):
        yield from check_host(host, measure_hosts({LOCAL: host}).get(LOCAL))


def _namespaces() -> Iterator[HostCheck]:
    try:
        with Namespaces() as namespaces:
            node = "doctor"
            namespaces.add_node(node)
            namespaces.run(node, "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
            result = f"network namespaces with {namespaces.privilege} privilege, veth"
        yield HostCheck("lab", "ok", result)
    except PathlabError as error:
        yield HostCheck(
            "lab",
            "limited",
            f"{error.message}; campaigns with a lab fall back to loopback where they allow it",
            error.hint,
        )


def _tun() -> Iterator[HostCheck]:
    if os.access("/dev/net/tun", os.R_OK | os.W_OK):
        yield HostCheck("/dev/net/tun", "ok", "accessible")
    else:
        yield HostCheck(
            "/dev/net/tun", "ok", "not accessible; the lab uses packet sockets, which are as good"
        )


def _disk() -> Iterator[HostCheck]:
    free = shutil.disk_usage(".").free
    fix = "free some space, or name another folder with --out" if free < FREE_BYTES_MIN else None
    yield check_limit("disk", f"{format_bytes(free)} free here", fix)
