"""Software bills of materials, CycloneDX 1.6 as JSON: what is in the wheel, and what is in the image.

Source: ECMA-424, https://cyclonedx.org/docs/1.6/json/. Versions of libraries are those of the lock files: the
wheel allows newer ones, the image has exactly these. The same commit gives the same bytes.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import tarfile
import tomllib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from release.commit import Commit
from release.lock_files import FOLDER, read_pins

NAME = "pathlab-analyzer"  # of the distribution
_BUNDLES = ("pathlab/report/plotly/bundle.toml", "pathlab/web/uplot/bundle.toml")
_REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)==")
_STATUS = "./var/lib/dpkg/status"

Component = dict[str, Any]


def write_wheel_bill(
    commit: Commit, wheel: Path, engines: Mapping[str, bytes], into: Path, python: str
) -> Path:
    """The bill of a wheel, beside it; ``python``: the version whose locked libraries are named."""
    subject = _describe_package(commit, wheel)
    parts = [*list_own_parts(commit, engines), *list_libraries(python)]
    return _write(commit, subject, parts, into / f"pathlab-{commit.version}-wheel.cdx.json")


def write_image_bill(
    commit: Commit,
    archive: Path,
    wheel: Path,
    engines: Mapping[str, bytes],
    packages: Iterable[Component],
    python: str,
) -> Path:
    """The bill of an image, beside its archive, whose digest it has."""
    subject = {
        "type": "container",
        "bom-ref": f"oci:pathlab@{commit.version}",
        "name": "pathlab",
        "version": commit.version,
        "licenses": _license("Apache-2.0"),
        "hashes": _digest(archive.read_bytes()),
    }
    own = _describe_package(commit, wheel)
    parts = [own, *list_own_parts(commit, engines), *list_libraries(python), *packages]
    return _write(commit, subject, parts, archive.with_suffix(".cdx.json"))


def _describe_package(commit: Commit, wheel: Path) -> Component:
    return {
        "type": "application",
        "bom-ref": f"pkg:pypi/{NAME}@{commit.version}",
        "name": NAME,
        "version": commit.version,
        "licenses": _license("Apache-2.0"),
        "purl": f"pkg:pypi/{NAME}@{commit.version}",
        "hashes": _digest(wheel.read_bytes()),
    }


def list_own_parts(commit: Commit, engines: Mapping[str, bytes]) -> list[Component]:
    """The engines of a wheel, by machine, what is linked into them, and the scripts of its pages."""
    parts: list[Component] = [
        {
            "type": "application",
            "bom-ref": f"pathlab-engine-{machine}@{commit.version}",
            "name": f"pathlab-engine-{machine}",
            "version": commit.version,
            "licenses": _license("Apache-2.0"),
            "hashes": _digest(engine),
        }
        for machine, engine in sorted(engines.items())
    ]
    zig = read_pins("dev", "3.12")["ziglang"].version
    parts.append(
        {
            "type": "library",
            "bom-ref": f"musl-of-zig@{zig}",
            "name": "musl",
            "description": f"C library that is linked into every engine, as ziglang {zig} has it",
            "licenses": _license("MIT"),
        }
    )
    for name in _BUNDLES:
        bundle = tomllib.loads((commit.folder / name).read_text(encoding="utf-8"))
        package, version = str(bundle["package"]), str(bundle["version"])
        purl = f"pkg:npm/{quote(package)}@{version}"
        parts.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": package,
                "version": version,
                "licenses": _license("MIT"),
                "purl": purl,
                "components": [
                    {"type": "file", "name": file, "hashes": [{"alg": "SHA-256", "content": digest}]}
                    for file, digest in sorted(bundle["sha256"].items())
                ],
            }
        )
    return parts


def list_libraries(python: str) -> list[Component]:
    """The locked libraries of a run with a version of Python, on Linux x86_64."""
    found = []
    for name, pin in sorted(read_pins("run", python).items()):
        purl = f"pkg:pypi/{quote(name.lower())}@{quote(pin.version)}"
        found.append({"type": "library", "bom-ref": purl, "name": name, "version": pin.version, "purl": purl})
    return found


def read_debian_packages(root: Path, suite: str) -> list[Component]:
    """The Debian packages of a file system in an archive, from dpkg's own list."""
    with tarfile.open(root) as archive:
        opened = archive.extractfile(_STATUS)
        assert opened is not None
        text = opened.read().decode("utf-8")
    found = []
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Architecture|Status): (.*)$", paragraph, re.MULTILINE))
        if fields.get("Status") != "install ok installed":
            continue
        name, version = fields["Package"], fields["Version"]
        place = f"arch={fields['Architecture']}&distro={suite}"
        purl = f"pkg:deb/debian/{quote(name)}@{quote(version)}?{place}"
        found.append({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl})
    return sorted(found, key=lambda part: str(part["bom-ref"]))


def read_requirers() -> dict[str, list[str]]:
    """Which libraries of the lock file require each one, by its comments; ``NAME`` stands for PathLab."""
    requirers: dict[str, list[str]] = {}
    current = ""
    for line in (FOLDER / "run.txt").read_text(encoding="utf-8").splitlines():
        found = _REQUIREMENT.match(line)
        if found is not None:
            current = found[1].lower()
            requirers.setdefault(current, [])
        elif current and line.startswith("    #"):
            for named in line.lstrip(" #").removeprefix("via").split(","):
                name = named.split()[0].lower() if named.split() else "-"
                if not name.startswith("-"):  # "-c FILE": a constraint
                    requirers[current].append(NAME if "(setup.py)" in named else name)
    return requirers


def _write(commit: Commit, subject: Component, parts: Sequence[Component], path: Path) -> Path:
    stamp = datetime.datetime.fromtimestamp(commit.epoch_s, datetime.UTC)
    refs = {str(part["bom-ref"]): part for part in parts}
    by_name = {str(part["name"]).lower(): ref for ref, part in refs.items() if ref.startswith("pkg:pypi/")}
    root, requirers = str(subject["bom-ref"]), read_requirers()
    needs: dict[str, set[str]] = {root: set(), **{ref: set() for ref in refs}}
    package = by_name.get(NAME, root)
    needs[root] |= refs.keys() - {ref for name, ref in by_name.items() if name != NAME}
    for name, ref in by_name.items():
        for requirer in () if name == NAME else requirers.get(name) or [NAME]:
            needs[package if requirer == NAME else by_name.get(requirer, package)].add(ref)
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{path.name} {commit.epoch_s}')}",
        "version": 1,
        "metadata": {
            "timestamp": stamp.isoformat().replace("+00:00", "Z"),
            "component": subject,
            "properties": [{"name": "pathlab:versions", "value": "requirements/run.txt"}],
        },
        "components": list(refs.values()),
        "dependencies": [{"ref": ref, "dependsOn": sorted(needs[ref])} for ref in sorted(needs)],
    }
    path.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def _license(name: str) -> list[dict[str, Any]]:
    return [{"license": {"id": name}}]


def _digest(data: bytes) -> list[dict[str, str]]:
    return [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}]
