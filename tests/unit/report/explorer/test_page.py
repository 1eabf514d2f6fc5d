"""The explorer's page for a server and as one file: what it loads, and what its policy allows."""

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

from pathlab import web
from pathlab.report.explorer.page import (
    BEGIN,
    CATALOGUE,
    CATALOGUE_MAIN,
    DOCUMENTS_ID,
    JSON_TYPE,
    LEFT_OUT_ID,
    MAIN,
    PACKED_TYPE,
    TABLE_ID,
    read_assets,
    read_module,
    render_exported,
    render_served,
)
from pathlab.web.modules import list_modules
from tests.builders.pages import PageReader

TITLE = '</title></script><script>alert("1")</script>\u2028 <b>'


@pytest.fixture(scope="module")
def exported() -> str:
    return render_exported(TITLE, gzip.compress(b"table"), gzip.compress(b"{}"), (TITLE,))


def test_the_served_page_has_neither_scripts_nor_styles_inside() -> None:
    reader = PageReader(render_served("Streams"))
    assert reader.list_texts("script", without_types=(PACKED_TYPE, JSON_TYPE)) == []
    assert reader.list_texts("style") == []
    loaded = [have for tag, have in reader.elements if tag == "script" or have.get("rel") == "stylesheet"]
    names = {(have.get("src") or have.get("href") or "").removeprefix("static/") for have in loaded}
    assert names | {CATALOGUE} == set(read_assets())


def test_every_script_of_the_folders_is_part_of_a_page_and_core_needs_no_page() -> None:
    modules = {
        module.path: module for main in (MAIN, CATALOGUE_MAIN) for module in list_modules(main, read_module)
    }
    folder = Path(web.__file__).parent
    files = {
        str(file.relative_to(folder)) for part in ("core", "page") for file in (folder / part).glob("*.js")
    }
    assert files == {*modules, f"page/{BEGIN}"}
    core = [module for path, module in modules.items() if path.startswith("core/")]
    assert not {path for module in core for path in module.imports if not path.startswith("core/")}
    assert not [module.path for module in core if re.search(r"\b(window|document)\.", module.body)]


def test_the_policy_of_the_exported_page_names_its_scripts_and_styles_by_digest(exported: str) -> None:
    reader = PageReader(exported)
    (policy,) = (have["content"] or "" for _, have in reader.elements if "http-equiv" in have)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        texts = reader.list_texts(tag, without_types=(PACKED_TYPE, JSON_TYPE))
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        assert len({*digests}) == len(texts) > 0
        assert rules[rule].split() == [f"'sha256-{digest}'" for digest in digests]
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_exported_page_refers_to_nothing_outside_itself(exported: str) -> None:
    for tag, have in PageReader(exported).elements:
        assert not {"src", "srcset", "action"} & set(have), tag
        assert tag != "a" or (have["href"] or "").startswith("#")
        assert tag != "link" or have["href"] == "data:,"


@pytest.mark.parametrize("mode", ["served", "exported"])
def test_no_element_has_a_handler_or_a_style_of_its_own(mode: str, exported: str) -> None:
    page = render_served(TITLE) if mode == "served" else exported
    elements = PageReader(page).elements
    assert ("html", {"lang": "en", "data-mode": mode}) in elements
    assert not [name for _, have in elements for name in have if name == "style" or name[:2] == "on"]


def test_a_title_with_markup_stays_text(exported: str) -> None:
    for page in (render_served(TITLE), exported):
        assert "<script>alert" not in page
        assert "\u2028" not in page.split("</title>")[0]
        assert (
            PageReader(page).list_texts("title")[0].startswith('</title></script><script>alert("1")</script>')
        )


def test_the_data_of_the_exported_page_is_read_back(exported: str) -> None:
    for name, content in ((TABLE_ID, b"table"), (DOCUMENTS_ID, b"{}")):
        found = re.search(rf'<script type="{PACKED_TYPE}" id="{name}">([A-Za-z0-9+/=]*)</script>', exported)
        assert gzip.decompress(base64.b64decode(found[1])) == content


def test_what_is_left_out_is_json_that_ends_no_script(exported: str) -> None:
    found = re.search(rf'<script type="{JSON_TYPE}" id="{LEFT_OUT_ID}">([^<]*)</script>', exported)
    assert json.loads(found[1]) == [TITLE]
    assert "\u2028" not in found[1]


def test_scripts_run_after_the_data_that_they_read(exported: str) -> None:
    assert exported.index(TABLE_ID) < exported.index("<script>")
