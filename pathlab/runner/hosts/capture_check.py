"""Whether hosts may record packet headers: tried, not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.errors import HostError, PathlabError, Stage
from pathlab.remote.captures import RemoteCapture
from pathlab.remote.session import Session
from pathlab.runner.hosts.facts_check import HostCheck, split_fix
from pathlab.runner.trial.trial_captures import NONE

#: What is tried records nothing: no traffic has the port.
_TRIED: dict[str, str | int] = {"address": "255.255.255.255", "port": "9", "limit-bytes": 1 << 16}
_SECONDS = 10.0
FIX = "run its agent as root; or `sudo setcap cap_net_raw+ep` on the engine that the check 'engine' names"


def find_refusal(session: Session) -> str | None:
    """Why a host cannot record packets; None: it can. Raises HostError where the host does not answer."""
    try:
        capture = RemoteCapture(session, _TRIED, seconds=_SECONDS)
    except HostError as error:
        if session.death() is not None:
            raise
        return error.reason
    capture.close()
    return None


def check_host_captures(session: Session) -> HostCheck:
    """One line; only campaigns with `capture` need it, so that it never fails."""
    refusal = find_refusal(session)
    if refusal is None:
        return HostCheck("captures", "ok", "packet headers can be recorded")
    reason, fix = split_fix(refusal, FIX)
    return HostCheck("captures", "optional", f"packet headers cannot be recorded: {reason}", fix)


def find_unable(
    campaign: Campaign, rows: Iterable[PlanRow], find_session: Callable[[str], Session]
) -> dict[str, str]:
    """Why hosts of a plan cannot record packets, by host; a host that does not answer is left to its trials.

    Raises HostError for the first one where the campaign has ``on_missing = "fail"``.
    """
    unable: dict[str, str] = {}
    if campaign.trial.capture == NONE:
        return unable
    for host in dict.fromkeys(host for row in rows for host in (row.path.source, row.path.destination)):
        try:
            refusal = find_refusal(find_session(host))
        except PathlabError:
            continue
        if refusal is not None:
            unable[host] = refusal
    if unable and campaign.on_missing == "fail":
        host, reason = next(iter(unable.items()))
        what, fix = split_fix(reason, FIX)
        raise HostError(what, host=host, stage=Stage.ENGINE, hint=f'{fix}; or set on_missing = "skip"')
    return unable
