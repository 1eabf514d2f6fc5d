"""The forms of a report by their names, and how each is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathlab.errors import UsageError
from pathlab.report.base.blocks import Report
from pathlab.report.formats.explorer import write_explorer
from pathlab.report.formats.html import write_html
from pathlab.report.formats.markdown import write_markdown
from pathlab.report.formats.pdf import load_weasyprint, write_pdf
from pathlab.report.formats.report_json import write_machine

STEM = "report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form: the ending of its file, how it is written, and what loads the libraries of an extra."""

    ending: str
    write: Callable[[Report, Path], Path]
    load: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsForm:
    """A form that is made of whole results, several of them too; ``stem``: of the name of its file."""

    stem: str
    ending: str
    write: Callable[[Sequence[Path], Path], Path]


FORMS: Mapping[str, Form] = {
    "html": Form(ending=".html", write=write_html),
    "pdf": Form(ending=".pdf", write=write_pdf, load=load_weasyprint),
    "md": Form(ending=".md", write=write_markdown),
    "json": Form(ending=".json", write=write_machine),
}
RESULTS_FORMS: Mapping[str, ResultsForm] = {
    "explorer": ResultsForm(stem="explorer", ending=".html", write=write_explorer)
}


def choose_forms(named: Iterable[str], out: Path | None) -> tuple[str, ...]:
    """The forms to write: those named, else the one that the ending of ``out`` says, else HTML."""
    if chosen := tuple(dict.fromkeys(named)):
        return chosen
    ending = "" if out is None else out.suffix.lower()
    return (next((name for name, form in FORMS.items() if form.ending == ending), "html"),)


def load_libraries(forms: Iterable[str]) -> None:
    """Load what the forms need, before anything that takes long. Raises UsageError if it is missing."""
    for name in forms:
        if name in FORMS and (load := FORMS[name].load):
            load()


def place_form(name: str, folder: Path, out: Path | None, *, several: bool) -> Path:
    """Where a form goes: ``out``, with the form's own ending where several are written; else the folder.

    An ``out`` that is a folder holds ``report`` with the form's ending, or the form's own name. Raises
    UsageError where ``out`` has the ending of another form.
    """
    whole = RESULTS_FORMS.get(name)
    ending = FORMS[name].ending if whole is None else whole.ending
    if out is None or out.is_dir():
        return (out or folder) / f"{STEM if whole is None else whole.stem}{ending}"
    if several:
        known = any(out.suffix.lower() == form.ending for form in FORMS.values())
        base = out.with_suffix("") if known else out
        return base.with_name(f"{base.name}{ending if whole is None else f'-{whole.stem}{ending}'}")
    other = next((form for form, item in FORMS.items() if item.ending == out.suffix.lower()), None)
    if other is not None and FORMS[other].ending != ending:
        raise UsageError(
            f"'{out}' ends as {other} but --format says {name}",
            hint=f"give a name that ends in {ending}, or leave out --format",
        )
    return out
