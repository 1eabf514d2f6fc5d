"""Bills of materials and signatures of a release, made of small files: quick, and without the release."""

import io
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from release.__main__ import check_folder
from release.commands import ReleaseError
from release.commit import Commit
from release.lock_files import read_pins
from release.sbom import NAME, read_debian_packages, read_requirers, write_image_bill, write_wheel_bill
from release.signing import NAMESPACE, VARIABLE, find_signing_key, sign
from tests.require import require

ROOT = Path(__file__).resolve().parents[2]
COMMIT = Commit(ROOT, "1.2.3", 1_700_000_000, "a@example.org", "")
ENGINES = {"x86_64": b"engine", "aarch64": b"another"}
STATUS = """\
Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u10
Description: text
 Version: 9, of a text

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1
"""
#: Of CycloneDX 1.6: what each object has to have, and may have here.
KEYS = {"type", "bom-ref", "name", "version", "description", "licenses", "purl", "hashes", "components"}
KINDS = {"application", "library", "container", "file"}


def list_components(bill: dict[str, Any]) -> Iterator[dict[str, Any]]:
    waiting = [bill["metadata"]["component"], *bill["components"]]
    while waiting:
        component = waiting.pop()
        yield component
        waiting += component.get("components", [])


def check_form(bill: dict[str, Any]) -> None:
    """The rules of CycloneDX 1.6 for what these bills use (bom-1.6.schema.json, and unique references)."""
    assert bill.keys() == {
        *("bomFormat", "specVersion", "serialNumber", "version", "metadata", "components", "dependencies")
    }
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["metadata"]["timestamp"])
    refs = []
    for component in list_components(bill):
        assert component.keys() <= KEYS
        assert component["type"] in KINDS
        assert component["name"]
        if component["type"] != "file":
            refs.append(component["bom-ref"])
        if "purl" in component:
            assert re.fullmatch(
                r"pkg:(pypi|npm|deb/debian)/[a-z0-9._%+-]+@[^?@ ]+(\?\S+)?", component["purl"]
            )
        for digest in component.get("hashes", []):
            assert digest.keys() == {"alg", "content"}
            assert digest["alg"] == "SHA-256"
            assert re.fullmatch("[0-9a-f]{64}", digest["content"])
    assert len(set(refs)) == len(refs)
    named = [one["ref"] for one in bill["dependencies"]]
    assert sorted(named) == sorted(refs)
    for one in bill["dependencies"]:
        assert len(set(one["dependsOn"])) == len(one["dependsOn"])
        assert set(one["dependsOn"]) <= set(refs) - {one["ref"]}
    reached, waiting = set(), [bill["metadata"]["component"]["bom-ref"]]
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    while waiting:
        ref = waiting.pop()
        if ref not in reached:
            reached.add(ref)
            waiting += needs[ref]
    assert reached == set(refs), "what nothing leads to"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "pathlab.whl"
    path.write_bytes(b"wheel")
    return path


def test_a_wheels_bill_names_libraries_engines_and_bundled_scripts(wheel: Path, tmp_path: Path) -> None:
    path = write_wheel_bill(COMMIT, wheel, ENGINES, tmp_path, "3.12")
    assert path.name == "pathlab-1.2.3-wheel.cdx.json"
    bill = json.loads(path.read_text(encoding="utf-8"))
    check_form(bill)
    versions = {one["name"]: one.get("version") for one in bill["components"]}
    assert {name: pin.version for name, pin in read_pins("run", "3.12").items()}.items() <= versions.items()
    assert {"plotly.js-basic-dist-min", "uplot", "musl"} <= versions.keys()
    assert versions["pathlab-engine-aarch64"] == "1.2.3"
    files = {one["name"] for one in list_components(bill) if one["type"] == "file"}
    assert {"plotly-basic.min.js", "uPlot.iife.min.js"} <= files
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    pandas = next(ref for ref in needs if ref.startswith("pkg:pypi/pandas@"))
    assert any(ref.startswith("pkg:pypi/numpy@") for ref in needs[pandas])
    before = path.read_bytes()
    assert write_wheel_bill(COMMIT, wheel, ENGINES, tmp_path, "3.12").read_bytes() == before


def test_every_locked_library_is_required_by_something() -> None:
    requirers = read_requirers()
    assert requirers.keys() == {name.lower() for name in requirers}
    unknown = {name: by for name, by in requirers.items() if not by or set(by) - requirers.keys() - {NAME}}
    assert unknown == {}


def test_an_images_bill_names_its_debian_packages(wheel: Path, tmp_path: Path) -> None:
    root, image = tmp_path / "root.tar", tmp_path / "pathlab-1.2.3-oci-amd64.tar"
    image.write_bytes(b"image")
    with tarfile.open(root, "w") as archive:
        entry = tarfile.TarInfo("./var/lib/dpkg/status")
        entry.size = len(STATUS.encode())
        archive.addfile(entry, io.BytesIO(STATUS.encode()))
    packages = read_debian_packages(root, "bookworm")
    assert [one["purl"] for one in packages] == [
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64&distro=bookworm"
    ]
    path = write_image_bill(COMMIT, image, wheel, ENGINES, packages, "3.11")
    assert path.name == "pathlab-1.2.3-oci-amd64.cdx.json"
    bill = json.loads(path.read_text(encoding="utf-8"))
    check_form(bill)
    assert {"libc6", NAME, "uplot", "numpy"} <= {one["name"] for one in bill["components"]}


def test_the_digests_are_signed_by_the_named_key_alone(tmp_path: Path) -> None:
    """As docs/INSTALL.md says: ssh-keygen -Y verify, with a file of allowed signers."""
    require(shutil.which("ssh-keygen"), "ssh-keygen (apt-get install openssh-client)")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    sums = tmp_path / "SHA256SUMS"
    sums.write_text("0" * 64 + "  file\n", encoding="ascii")
    assert find_signing_key({}) is None
    assert find_signing_key({VARIABLE: str(key)}) == key
    assert sign(sums, key).name == "SHA256SUMS.sig"
    public = key.with_suffix(".pub").read_text(encoding="ascii")
    (tmp_path / "allowed").write_text(f"pathlab {public}", encoding="ascii")
    verify: list[str | Path] = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        tmp_path / "allowed",
        "-I",
        "pathlab",
        "-n",
        NAMESPACE,
    ]
    verify += ["-s", tmp_path / "SHA256SUMS.sig"]
    assert subprocess.run(verify, input=sums.read_bytes(), check=False).returncode == 0
    assert subprocess.run(verify, input=b"changed", check=False).returncode != 0
    for path in (key, key.with_suffix(".pub"), tmp_path / "allowed"):
        path.unlink()
    check_folder(tmp_path)  # the next release replaces both


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_key_that_is_no_file_is_refused_before_all_work(name: str, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"\$PATHLAB_SIGNING_KEY names '.*', which is no file") as caught:
        find_signing_key({VARIABLE: str(tmp_path / name)})
    assert "ssh-agent" in caught.value.fix
