"""What results say once their run has ended: the answer as a terminal has it, and the report."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from pathlab.report.formats.html import render_html
from pathlab.report.report_builder import build_document
from pathlab.report.topics import list_answers
from pathlab.serve.answers import RequestRefused, answer_json
from pathlab.serve.catalogue import RUNNING
from pathlab.serve.service import find_service
from pathlab.study.analyses import StudiedResults

#: A report has its scripts and styles inside, and asks for nothing.
REPORT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def list_report_routes() -> list[Route]:
    """The endpoints of this module."""
    return [Route("/api/answer", send_answer), Route("/report", send_report)]


def send_answer(request: Request) -> Response:
    """The answers of every results file chosen, in the order of their labels, with the links of its page.

    None while one of them is measured (``running``): an analysis would disturb the run.
    """
    service = find_service(request)
    entries = service.library.select(request)
    if any(entry.state == RUNNING for entry in entries):
        return answer_json({"running": True, "results": []})
    result = []
    for entry in entries:
        with service.analysing, StudiedResults.open(entry.path) as stored:
            answers = [asdict(answer) for answer in list_answers(stored)]
        open_ = f"?open={entry.results_id}"
        result.append({"answers": answers, "report": f"report{open_}", "explorer": open_})
    return answer_json({"running": False, "results": result})


def send_report(request: Request) -> Response:
    """The report of one results file as a page, as `pathlab report` writes it."""
    entries = find_service(request).library.select(request)
    if len(entries) != 1:
        raise RequestRefused(400, "a report is of one results file", hint="name it: open=ID")
    if entries[0].state == RUNNING:
        raise RequestRefused(409, "the run has not ended", hint="wait for its end")
    with find_service(request).analysing, StudiedResults.open(entries[0].path) as stored:
        page = render_html(build_document(stored))
    return HTMLResponse(page, headers={"content-security-policy": REPORT_POLICY})
