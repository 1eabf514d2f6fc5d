"""The hosts of a row set to its bond before the trial, read, and set back after it.

Hosts of a lab alone are changed. Of others an existing bond is read before and after the trial.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pathlab.campaign.bond_checks import changes_hosts
from pathlab.campaign.cell import PlannedCell
from pathlab.campaign.model import Campaign
from pathlab.campaign.multipath_factors import HASHED_ROUTES, KERNEL_BONDS, SINGLE_LINKS, TURNS
from pathlab.campaign.order import PlanRow
from pathlab.engines.spec import TrialPath
from pathlab.errors import HostError, PathlabError, Stage
from pathlab.lab.bonds import HASH_POLICY, REORDERING, SCHEDULER, BondedLinks
from pathlab.runner.hosts.environment import Environment
from pathlab.runner.trial.bond_record import BondReading, MemberLink, choose_bond, describe_bond
from pathlab.runner.trial.failover import FailurePlan, LinkFailure

Bonds = Mapping[str, Any]
#: Receivers end their window a little later than the sender's time says.
AFTER_WINDOW_NS = 100_000_000
#: Words for what takes its turn, for the settings of a trial.
UNITS = {"super-packet": "super-packets as the stack hands them over", "packet": "single packets"}


class RowBond:
    """The links of one row. :meth:`set_up` gives the path with its addresses; :meth:`undo` always follows."""

    def __init__(self, campaign: Campaign, environment: Environment, row: PlanRow) -> None:
        self._campaign, self._environment, self._row = campaign, environment, row
        self._links: BondedLinks | None = None
        self._before: dict[str, Bonds] = {}
        self._used: dict[str, str] = {}  # bond by host
        self.reading: BondReading | None = None

    def set_up(self, path: TrialPath) -> TrialPath:
        """Set the hosts to the row's bond. Raises HostError where that cannot be."""
        cell = self._row.cell
        if not {"bond", "failover"} & {*cell.given} and not changes_hosts(cell):
            return path
        if path.one_host or path.sinks:
            return path
        lab = self._environment.lab
        if lab is None or path.source not in lab.topology.hosts:
            if not changes_hosts(cell) or self._environment.facts["fallback"] is None:
                self._read_existing(path)
                return path
            raise HostError(
                f"bond '{cell.bond}' needs the lab, which could not be built",
                host=path.source,
                stage=Stage.LAB,
                hint='fallback = "none" refuses to run without it',
            )
        self._links = links = BondedLinks(lab, (path.source, path.destination))
        addresses = self._apply(links, cell, (path.source_address, path.destination_address))
        self._read_lab(links, cell)
        self._plan_failure(links, cell)
        return replace(path, source_address=addresses[0], destination_address=addresses[1])

    def _apply(self, links: BondedLinks, cell: PlannedCell, addresses: tuple[str, str]) -> tuple[str, str]:
        if cell.tcp_reordering is not None:
            links.set_reordering(cell.tcp_reordering)
        if cell.mptcp_subflows is not None:
            links.limit_subflows(cell.mptcp_subflows)
        if cell.mptcp_scheduler is not None:
            links.set_scheduler(cell.mptcp_scheduler)
        level = cell.bond
        if level in SINGLE_LINKS:
            if cell.transport == "mptcp":
                links.limit_subflows(1)  # or it would take the others as well
            return links.find_addresses(links.numbers[SINGLE_LINKS[level] - 1])
        if level in TURNS:
            links.share_in_turn(by_packet=TURNS[level] == "packet")
        elif level in HASHED_ROUTES:
            links.share_by_hash(HASHED_ROUTES[level])
        elif level in KERNEL_BONDS:
            links.bond(*KERNEL_BONDS[level])
        elif level == "emulated":
            links.carry_by_lines()
            return addresses
        else:
            return addresses
        return links.shared_addresses

    def _read_lab(self, links: BondedLinks, cell: PlannedCell) -> None:
        stated: dict[str, dict[str, str | None]] = {
            "bond": dict.fromkeys(links.ends, self._describe(cell, links))
        }
        for name, key in (("tcp_reordering", REORDERING), ("mptcp_scheduler", SCHEDULER)):
            stated[name] = {node: links.read_sysctl(node, key) for node in links.ends}
        if cell.bond in HASHED_ROUTES:
            for node, text in stated["bond"].items():
                stated["bond"][node] = f"{text}, hash policy {links.read_sysctl(node, HASH_POLICY)}"
        members = []
        for host in links.ends:
            offloads = _read_offloads(self._environment, host)
            for number in links.numbers:
                end = links.find_end(number, host)
                name = links.find_interface(number)
                shown = links.read_interface(host, number)
                members.append(
                    MemberLink(
                        host=host,
                        interface=name,
                        link=number,
                        rate_bits_per_s=links.find_rate(number, end),
                        gso_max_segments=shown.get("gso_max_segs"),
                        gro=offloads.get(name),
                        state=(shown.get("linkinfo") or {}).get("info_slave_data", {}).get("mii_status"),
                    )
                )
        self.reading = BondReading(members=tuple(members), stated=stated)

    @staticmethod
    def _describe(cell: PlannedCell, links: BondedLinks) -> str:
        count, level = len(links.numbers), cell.bond
        if level in TURNS:
            return f"nftables, {count} links in turn, {UNITS[TURNS[level]]}"
        if level in HASHED_ROUTES:
            return f"routes over {count} links"
        if level in KERNEL_BONDS:
            mode, policy = KERNEL_BONDS[level]
            return f"bonding {mode}{' ' + policy if policy else ''}, {count} links"
        return level

    def _plan_failure(self, links: BondedLinks, cell: PlannedCell) -> None:
        if cell.failover == "none" or self.reading is None:
            return
        settings, seed, row = self._campaign.failover, self._campaign.seed, self._row.row
        number = links.numbers[settings.draw_link(seed, row, len(links.numbers))]
        offset_ns = settings.draw_offset_ns(seed, row, cell.duration_ns)
        plan = FailurePlan(
            member=links.find_interface(number),
            after_ns=cell.warmup_ns + offset_ns,
            return_after_ns=settings.return_after_ns,
            over_after_ns=cell.warmup_ns + cell.duration_ns + AFTER_WINDOW_NS,
            remaining_bits_per_s=self._find_remaining(links, number),
        )
        silent = cell.failover == "silent"
        self.reading.failure = LinkFailure(
            plan, lambda: links.fail(number, silent=silent), lambda: links.restore(number)
        )

    def _find_remaining(self, links: BondedLinks, failed: int) -> int | None:
        """What the links of the row carry from its source without the one that fails; None: not limited."""
        used = [number for number in self._list_used(links) if number != failed]
        rates = [links.find_rate(number, links.find_end(number, links.ends[0])) for number in used]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if len(known) == len(rates) else None

    def _list_used(self, links: BondedLinks) -> Sequence[int]:
        """The links that the row's traffic may take."""
        cell = self._row.cell
        if cell.bond in SINGLE_LINKS:
            return [links.numbers[SINGLE_LINKS[cell.bond] - 1]]
        if cell.bond == "none" and cell.transport != "mptcp":
            return links.numbers[:1]
        return links.numbers

    def _read_existing(self, path: TrialPath) -> None:
        """The bonds of both hosts as they are. Raises HostError where a level needs one and none is there."""
        level = self._row.cell.bond
        members: list[MemberLink] = []
        stated: dict[str, str | None] = {}
        for host, address in (
            (path.source, path.source_address),
            (path.destination, path.destination_address),
        ):
            bonds = self._before[host] = _read_bonds(self._environment, host)
            name = choose_bond(bonds, address)
            if name is None:
                continue
            self._used[host] = name
            stated[host] = describe_bond(name, bonds[name])
            offloads = _read_offloads(self._environment, host)
            members += [
                MemberLink(
                    host=host,
                    interface=member,
                    rate_bits_per_s=facts["speed_bits_per_s"],
                    gro=offloads.get(member),
                    state=facts["state"],
                )
                for member, facts in bonds[name]["members"].items()
            ]
        if level == "existing" and not self._used:
            raise HostError(
                f"neither {path.source} nor {path.destination} has a bond that their traffic uses",
                host=path.source,
                stage=Stage.NETWORK,
                hint="see /proc/net/bonding there, name the bond's addresses in [[paths]], or leave "
                "'existing' out of factors.bond",
            )
        self.reading = BondReading(members=tuple(members), stated={"bond": stated})

    def end_failure(self) -> None:
        """No link fails or returns from now on. Raises HostError where one could not be made to fail."""
        if self.reading is not None and self.reading.failure is not None:
            self.reading.failure.end()

    def read_again(self) -> None:
        """Compare the bonds of both hosts with those before the trial."""
        if self.reading is None:
            return
        for host, name in self._used.items():
            with contextlib.suppress(PathlabError):  # a host that is gone failed the trial
                if is_other_bond(
                    self._before[host].get(name), _read_bonds(self._environment, host).get(name)
                ):
                    self.reading.changed = True

    def undo(self) -> None:
        """Set everything back. Raises HostError where the lab's hosts could not be."""
        try:
            self.end_failure()
        finally:
            if self._links is not None:
                self._links.undo()

    def find_rate_bits_per_s(self, path: TrialPath) -> int | None:
        """The rate of the links that the row uses together, in the direction of a path; None: not limited.

        Of the first alone where the row has no bond.
        """
        links = self._links
        if links is None:
            return None
        used = self._list_used(links)
        rates = [links.find_rate(number, links.find_end(number, path.source)) for number in used]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if len(known) == len(rates) else None

    @property
    def uses_other_links(self) -> bool:
        """Whether the row uses other links of the lab than the first."""
        return self._links is not None and self._row.cell.bond not in ("none", "mptcp")


def is_other_bond(before: Bonds | None, after: Bonds | None) -> bool:
    """Whether a bond is another one than before: gone, another mode or member, or a member lost its link."""
    return before != after


def _read_bonds(environment: Environment, host: str) -> Bonds:
    bonds: Bonds | None = environment.session(host).read_facts("bonds").get("bonds")
    return bonds or {}


def _read_offloads(environment: Environment, host: str) -> dict[str, bool | None]:
    """Whether each interface of a host joins received packets (GRO)."""
    nics = environment.session(host).read_facts("nics").get("nics") or {}
    return {name: (facts.get("offloads") or {}).get("gro") for name, facts in nics.items()}
