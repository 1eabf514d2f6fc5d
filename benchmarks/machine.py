"""What this machine's cores did, so that other work on it can be separated from what is measured."""

from __future__ import annotations

import gzip
import os
import resource
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreTime:
    """Seconds of all cores since boot, from /proc/stat; of the softirq threads; and of this process."""

    task_s: float  # user, nice, system
    softirq_s: float  # irq, softirq
    idle_s: float  # idle, iowait
    stolen_s: float  # by other virtual machines
    ksoftirqd_s: float
    own_s: float

    def since(self, earlier: CoreTime) -> CoreTime:
        """The time between two readings."""
        return CoreTime(
            task_s=self.task_s - earlier.task_s,
            softirq_s=self.softirq_s - earlier.softirq_s,
            idle_s=self.idle_s - earlier.idle_s,
            stolen_s=self.stolen_s - earlier.stolen_s,
            ksoftirqd_s=self.ksoftirqd_s - earlier.ksoftirqd_s,
            own_s=self.own_s - earlier.own_s,
        )

    @property
    def busy_ratio(self) -> float:
        """Share of the cores' time that was not idle; stolen time is left out."""
        busy_s = self.task_s + self.softirq_s
        return busy_s / (busy_s + self.idle_s) if busy_s + self.idle_s > 0 else 0.0


def read_core_time(ksoftirqd: tuple[Path, ...]) -> CoreTime:
    """The cores' time so far; ``ksoftirqd`` as :func:`find_ksoftirqd` gives them."""
    words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    user, nice, system, idle, iowait, irq, softirq, stolen = (int(word) / _TICKS_PER_S for word in words)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return CoreTime(
        task_s=user + nice + system,
        softirq_s=irq + softirq,
        idle_s=idle + iowait,
        stolen_s=stolen,
        ksoftirqd_s=sum(_thread_cpu_s(path) for path in ksoftirqd),
        own_s=usage.ru_utime + usage.ru_stime,
    )


def _thread_cpu_s(path: Path) -> float:
    fields = path.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def find_ksoftirqd() -> tuple[Path, ...]:
    """The stat files of the kernel's softirq threads; empty where this user's /proc hides them."""
    result = []
    for comm in Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text(encoding="utf-8", errors="replace").startswith("ksoftirqd/"):
                result.append(comm.with_name("stat"))
        except OSError:  # ended while we looked
            continue
    return tuple(result)


def counts_softirq_apart() -> bool:
    """Whether this kernel leaves the interrupt work done in a process out of that process's time.

    CONFIG_IRQ_TIME_ACCOUNTING in the kernel's configuration; False where none can be read, the usual case.
    """
    archive, boot = Path("/proc/config.gz"), Path(f"/boot/config-{os.uname().release}")
    text = ""
    if archive.is_file():
        text = gzip.decompress(archive.read_bytes()).decode("utf-8", "replace")
    elif boot.is_file():
        text = boot.read_text(encoding="utf-8", errors="replace")
    return "\nCONFIG_IRQ_TIME_ACCOUNTING=y" in text


def unexplained_s(spent: CoreTime, processes_s: float, *, softirq_apart: bool) -> float:
    """Busy core seconds that neither the measured processes, softirq threads nor this script account for.

    Where the kernel counts interrupt work separately, this is exact. Else it is part of the processes' time,
    and /proc/stat's softirq column is a part of it.
    """
    busy_s = spent.task_s if softirq_apart else spent.task_s + spent.softirq_s - spent.ksoftirqd_s
    return busy_s - spent.own_s - processes_s


def traffic_cpu_s(spent: CoreTime, processes_s: float, *, softirq_apart: bool) -> float:
    """CPU of a transfer: its processes and the interrupt work that the kernel does for it elsewhere."""
    return processes_s + (spent.softirq_s if softirq_apart else spent.ksoftirqd_s)
