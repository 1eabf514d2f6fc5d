"""What hosts lack for the technologies of a campaign, and which packages bring it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pathlab.campaign.model import Campaign
from pathlab.campaign.order import PlanRow
from pathlab.campaign.technologies import list_technologies
from pathlab.errors import HostError, Stage
from pathlab.host_names import LOCAL
from pathlab.remote.session import Session
from pathlab.runner.hosts.facts_check import HostCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class TechnologyState:
    """What one host has of a technology: nothing is ``missing`` where it can run.

    ``missing``: names of programs, headers or modules; ``debian``, ``pip``: the packages that bring them.
    ``versions``: of its programs, where they state them without being built.
    """

    name: str
    host: str
    missing: tuple[str, ...]
    debian: tuple[str, ...]
    pip: tuple[str, ...]
    sandbox: bool
    versions: str | None


def check_technologies(session: Session, names: Sequence[str]) -> list[TechnologyState]:
    """What a host has of each technology. Raises HostError where it cannot say."""
    answer = session.check_adapters(list(names))
    return [_read_state(name, session.host, answer[name]) for name in names if name in answer]


def _read_state(name: str, host: str, stated: Mapping[str, Any]) -> TechnologyState:
    packages = {
        kind: [item[kind] for item in stated["missing"] if item.get(kind)] for kind in ("debian", "pip")
    }
    only_pip = [item["pip"] for item in stated["missing"] if item.get("pip") and not item.get("debian")]
    return TechnologyState(
        name=name,
        host=host,
        missing=tuple(item["what"] for item in stated["missing"]),
        debian=tuple(dict.fromkeys(packages["debian"])),
        pip=tuple(dict.fromkeys(only_pip)),
        sandbox=bool(stated["sandbox"]),
        versions=stated.get("versions"),
    )


def format_fix(states: Iterable[TechnologyState]) -> str | None:
    """The commands that bring what these lack; None where no package is known."""
    lacking = list(states)
    commands = []
    for command, kind in (("apt-get install", "debian"), ("pip install", "pip")):
        packages = sorted({package for item in lacking for package in getattr(item, kind)})
        commands += [f"{command} {' '.join(packages)}"] if packages else []
    return "; ".join(commands) or None


def check_host_technologies(session: Session) -> HostCheck:
    """One line for all that this PathLab knows; no measurement needs them all, so that it never fails.

    Their packages are many, and of no use to who measures TCP and UDP: another command lists them.
    """
    names = list(list_technologies())
    states = check_technologies(session, names)
    lacking = [state for state in states if state.missing]
    result = f"{len(states) - len(lacking)} of {len(names)}"
    result += "; the others are only for campaigns that name them" if lacking else ""
    if any(not state.sandbox for state in states):
        result += "; without user namespaces, so that a server is only a process group of its own"
    if not lacking:
        return HostCheck("technologies", "ok", result)
    where = "" if session.host == LOCAL else f" {session.host}"
    return HostCheck("technologies", "optional", result, f"pathlab technologies{where} lists their packages")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """The rows of a plan that cannot be measured, since a host lacks their technology."""

    rows: frozenset[int] = frozenset()
    lacking: tuple[TechnologyState, ...] = ()

    def describe(self) -> str:
        """One line: how many trials, which technologies, on which hosts, and what brings them."""
        hosts: dict[str, list[TechnologyState]] = {}
        for item in self.lacking:
            hosts.setdefault(item.host, []).append(item)
        parts = []
        for host, states in hosts.items():
            fix = format_fix(states)
            names = ", ".join(state.name for state in states)
            parts.append(f"{host} lacks {names}" + (f" ({fix})" if fix else ""))
        count = "1 trial is" if len(self.rows) == 1 else f"{len(self.rows)} trials are"
        return f"{count} left out: {'; '.join(parts)}"


def find_left_out(
    campaign: Campaign, rows: Iterable[PlanRow], find_session: Callable[[str], Session]
) -> LeftOut:
    """The rows whose technology a host lacks. A host that does not answer leaves none out: its trials say so.

    Raises HostError where the campaign has ``on_missing = "fail"``, or nothing is left to be measured.
    """
    plan, known = list(rows), list_technologies()
    needed = {row.row: (row.cell.engine, _list_ends(row)) for row in plan if row.cell.engine in known}
    by_host: dict[str, dict[str, None]] = {}
    for name, ends in needed.values():
        for host in ends:
            by_host.setdefault(host, {})[name] = None
    lacking = {
        (item.name, host): item
        for host, names in by_host.items()
        for item in _check_if_reachable(find_session, host, list(names))
        if item.missing
    }
    left = frozenset(
        row for row, (name, ends) in needed.items() if any((name, host) in lacking for host in ends)
    )
    left_out = LeftOut(rows=left, lacking=tuple(lacking.values()))
    if left and (campaign.on_missing == "fail" or len(left) == len(plan)):
        first, fix = left_out.lacking[0], format_fix(left_out.lacking)
        raise HostError(left_out.describe(), host=first.host, stage=Stage.ADAPTER, hint=fix)
    return left_out


def _list_ends(row: PlanRow) -> tuple[str, ...]:
    """The hosts at which the two ends of a row's technology run."""
    source = row.path.source
    return (source,) if row.cell.is_on_one_host else (source, row.path.destination)


def _check_if_reachable(
    find_session: Callable[[str], Session], host: str, names: list[str]
) -> list[TechnologyState]:
    try:
        return check_technologies(find_session(host), names)
    except HostError:
        return []
