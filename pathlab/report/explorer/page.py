"""The explorer's page: for a server, which sends its scripts as files, and as one file with all inside.

Both have the same body, ``explorer.html``, and run the same scripts in the same order. Neither needs
inline scripts, inline styles or ``eval``, so that a strict content security policy holds for both.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pathlab.escaping import escape_controls
from pathlab.report.base.summary import AnswerText
from pathlab.report.plots.live import SCRIPT, seal_json, seal_script
from pathlab.web.modules import join_modules

#: What a served page runs first.
BEGIN = "begin.js"
#: Libraries, which run before the page's own scripts.
LIBRARIES = ("plotly-basic.min.js", "uPlot.iife.min.js")
#: The page's own scripts as one file: 60 requests would take longer than all else before the first figure.
BUNDLE, MAIN = "explorer.js", "page/main.js"
#: The script of the page that lists results.
CATALOGUE, CATALOGUE_MAIN = "catalogue.js", "page/catalogue.js"
#: The global that offers what the modules of the bundle export, for consoles and tests.
MODULES = "pathlabExplorer"
#: Style sheets in their order. plotly.js adds its rules to the element with PLOTLY_SHEET_ID.
SHEETS = ("uPlot.min.css", "report.css", "plot.css", "explorer.css")
PLOTLY_SHEET, PLOTLY_SHEET_ID = "plot.css", "plotly.js-style-global"
#: Ids of the elements that hold the data of an exported page; ``source.js`` reads them.
TABLE_ID, DOCUMENTS_ID, LEFT_OUT_ID = "pathlab-table", "pathlab-documents", "pathlab-left-out"
PACKED_TYPE, JSON_TYPE = "application/octet-stream", "application/json"
_WEB, _REPORT = resources.files("pathlab.web"), resources.files("pathlab.report")
_FOLDERS = (_WEB / "page", _WEB / "uplot", _REPORT / "plotly", _REPORT / "templates")
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A script or style sheet: its bytes and the value of Content-Type."""

    name: str
    content: bytes
    content_type: str


@cache
def read_assets() -> Mapping[str, Asset]:
    """Every script and style sheet of the page by its file name: what a server sends under ``static/``."""
    assets: dict[str, Asset] = {}
    for name in (*SHEETS, BEGIN, *LIBRARIES):
        assets[name] = _make_asset(name, _read_file(name))
    bundle = SCRIPT + join_modules(MAIN, read_module, offered_as=MODULES)
    assets[BUNDLE] = _make_asset(BUNDLE, bundle.encode())
    assets[CATALOGUE] = _make_asset(CATALOGUE, join_modules(CATALOGUE_MAIN, read_module).encode())
    return assets


def read_module(path: str) -> str:
    """A module of the explorer's scripts by its path, such as ``core/view.js``."""
    return _WEB.joinpath(path).read_text(encoding="utf-8")


def _make_asset(name: str, content: bytes) -> Asset:
    return Asset(name=name, content=content, content_type=_TYPES[name[name.rindex(".") :]])


def _read_file(name: str) -> bytes:
    files = (folder / name for folder in _FOLDERS)
    return next(file for file in files if file.is_file()).read_bytes()


def render_served(title: str) -> str:
    """The page for a server: scripts and style sheets are files alongside it, under ``static/``."""
    return _render(title, mode="served", head=_link_sheets(), tail=_link_scripts((BEGIN, *LIBRARIES, BUNDLE)))


def render_catalogue(title: str) -> str:
    """The page of a server on which results are chosen; its files are those of ``render_served``."""
    return _render(
        title,
        mode="served",
        head=_link_sheets(),
        tail=_link_scripts((CATALOGUE,)),
        template="catalogue.html",
    )


def _link_sheets() -> list[Markup]:
    return [
        Markup('<link rel="stylesheet" href="static/{}"{}>').format(name, _mark_sheet(name))
        for name in SHEETS
    ]


def _link_scripts(names: Sequence[str]) -> list[Markup]:
    return [Markup('<script src="static/{}"></script>').format(name) for name in names]


def render_exported(
    title: str,
    table: bytes,
    documents: bytes,
    left_out: Sequence[str],
    answers: Sequence[AnswerText] = (),
) -> str:
    """The page as one file that needs no network and no server.

    ``table``: the packed table; ``documents``: what the page shows besides it; both compressed with gzip.
    ``left_out``: what readers are told that the page rounds or leaves out. ``answers`` come first on the
    page, and need no script.
    The page's policy allows only its own scripts and styles, by their digests, and no request.
    """
    sheets = [(_mark_sheet(name), _read_text(name)) for name in SHEETS]
    scripts = [seal_script(_read_text(name)) for name in (*LIBRARIES, BUNDLE)]
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_list_digests(scripts)}",
            f"style-src {_list_digests([text for _, text in sheets])}",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = [Markup('<meta http-equiv="Content-Security-Policy" content="{}">').format(policy)]
    head += [Markup("<style{}>{}</style>").format(mark, Markup(text)) for mark, text in sheets]
    told = seal_json(json.dumps(list(left_out), ensure_ascii=False))
    tail = [_embed(TABLE_ID, table), _embed(DOCUMENTS_ID, documents)]
    tail += [Markup('<script type="{}" id="{}">{}</script>').format(JSON_TYPE, LEFT_OUT_ID, Markup(told))]
    tail += [Markup("<script>{}</script>").format(Markup(text)) for text in scripts]
    return _render(title, mode="exported", head=head, tail=tail, answers=answers)


def _render(
    title: str,
    *,
    mode: str,
    head: Sequence[Markup],
    tail: Sequence[Markup],
    template: str = "explorer.html",
    answers: Sequence[AnswerText] = (),
) -> str:
    environment = Environment(
        loader=PackageLoader("pathlab.web", "page"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(template).render(
        title=escape_controls(title),
        mode=mode,
        head=Markup("\n").join(head),
        tail=Markup("\n").join(tail),
        answers=[[escape_controls(text) for text in (answer.lead, *answer.remarks)] for answer in answers],
    )


def _read_text(name: str) -> str:
    return read_assets()[name].content.decode()


def _mark_sheet(name: str) -> Markup:
    return Markup(' id="{}"').format(PLOTLY_SHEET_ID) if name == PLOTLY_SHEET else Markup("")


def _embed(name: str, content: bytes) -> Markup:
    encoded = base64.b64encode(content).decode()
    return Markup('<script type="{}" id="{}">{}</script>').format(PACKED_TYPE, name, Markup(encoded))


def _list_digests(texts: Sequence[str]) -> str:
    """Sources of a content security policy. A browser digests a text with LF as its line end."""
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
