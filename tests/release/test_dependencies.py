"""What is declared has wheels for the machines that PathLab names."""

import subprocess

import pytest

from tests.contract.test_dependencies import TABLE, name_packages
from tests.require import require

TARGETS, WITHOUT_WHEEL = TABLE["TARGETS"], TABLE["WITHOUT_WHEEL"]
#: The one without all wheels; resolving takes long, and `make dev` installs on the commonest.
ALWAYS = "musl aarch64"


@pytest.fixture(scope="module")
def _index() -> None:
    try:
        TABLE["resolve_wheels"](["click"], "Linux x86_64")
    except subprocess.CalledProcessError as error:
        require(False, f"a package index: {error.stderr.strip()[-200:]}")


@pytest.mark.parametrize(
    "target", [pytest.param(name, marks=[] if name == ALWAYS else pytest.mark.long) for name in TARGETS]
)
@pytest.mark.usefixtures("_index")
def test_wheels_suffice(target: str) -> None:
    missing = WITHOUT_WHEEL.get(target, frozenset())
    wanted = [line for line in TABLE["list_requirements"](["pdf"]) if not name_packages([line]) & missing]
    found = TABLE["resolve_wheels"](wanted, target)
    assert name_packages(wanted) <= set(found)
    for name in missing:  # as the page says
        with pytest.raises(subprocess.CalledProcessError) as caught:
            TABLE["resolve_wheels"]([name], target)
        assert f"Cannot install {name} because" in caught.value.stderr  # of the locked version
