"""The table of one host: how it is reached, and what its traffic uses.

Keys that say only how to get in (user, port, key, jump, password_env, python) and tags are not kept with
results and do not count for the campaign's digest: results get shared, and the same trials on the same host
may be continued from another account. Where the traffic goes and which processors carry it is kept, and a run
with other values is another campaign.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pathlab.campaign.background_model import Folder
from pathlab.campaign.file_table import Address, FileTable, HostName
from pathlab.campaign.quantities import BYTES, COUNT, RATE, TIME, Bounds
from pathlab.host_names import PORT_MAX, find_name_fault

SSH_NAME_PATTERN = r"^[^\s@/-][^\s@/]*$"  # no leading dash: it must never look like an option
USER_PATTERN = r"^[^\s@:/-][^\s@:/]*$"
JUMP_PATTERN = r"^[^\s,-][^\s,]*(,[^\s,-][^\s,]*)*$"
VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
TAG_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,62}$"
DEVICE_PATTERN = r"^[^\s/]{1,15}$"
#: Why no table of hosts may have its name.
KNOWN_LOCAL = "'local' is this machine and always known; expected another name, or no table"
SSH_ONLY = ("address", "user", "port", "key", "jump", "password_env", "python", "cpus", "numa_node")
PORT_RANGE_EXPECTED = 'expected two ports from 1 to 65535 such as "5201-5300"'


def _check_port_range(value: str) -> str:
    """``"5201-5300"``, or one port."""
    match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", value)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= PORT_MAX:
        text = f"'{value}' is not a range of ports; {PORT_RANGE_EXPECTED}"
        raise PydanticCustomError("port_range", "{text}", {"text": text})
    return value


def _check_address(value: str | None) -> str | None:
    fault = None if value is None else find_name_fault(value.strip("[]"))
    if fault is not None:
        text = f"'{value}' is not a name or address: {fault}; expected a name such as \"host.example.org\""
        raise PydanticCustomError("address", "{text}", {"text": text})
    return value


def _check_cpus(value: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(value)) != len(value):
        text = f"{list(value)} names a processor twice; expected each once"
        raise PydanticCustomError("cpus", "{text}", {"text": text})
    return value


Cpu = Annotated[int, Bounds(COUNT, 0, 65535)]


class Host(FileTable):
    """A host that takes part, besides `local` (this machine, always known) and the hosts of the lab."""

    transport: Literal["ssh", "local"] = Field(
        description="How PathLab reaches the host: `ssh` (also if left out alongside `address`) or `local`, "
        "this machine."
    )
    address: Annotated[str | None, Field(pattern=SSH_NAME_PATTERN), AfterValidator(_check_address)] = Field(
        None, description="Name or address that SSH connects to; else the host's name, as for `ssh` itself."
    )
    user: Annotated[str | None, Field(pattern=USER_PATTERN)] = Field(
        None, exclude=True, description="Account on the host; else that of ~/.ssh/config, else yours."
    )
    port: Annotated[int | None, Bounds(COUNT, 1, PORT_MAX)] = Field(
        None, exclude=True, description="Port of the SSH server; else that of ~/.ssh/config, else 22."
    )
    key: Annotated[str | None, Field(min_length=1)] = Field(
        None, exclude=True, description="File of the private key; else the agent's and those of ~/.ssh."
    )
    jump: Annotated[str | None, Field(pattern=JUMP_PATTERN)] = Field(
        None,
        exclude=True,
        description="Host to go through: a host of this file or user@host:port; several behind commas.",
    )
    password_env: Annotated[str | None, Field(pattern=VARIABLE_PATTERN)] = Field(
        None, exclude=True, description="Environment variable that holds the password; never the password."
    )
    python: Annotated[str | None, Field(min_length=1)] = Field(
        None,
        exclude=True,
        description="Python interpreter on the host, 3.8 or newer; else one is looked for.",
    )
    measure_addresses: tuple[Address, ...] = Field(
        (),
        description="Addresses that traffic uses, the first one unless the other end needs another family.",
    )
    port_range: Annotated[str | None, AfterValidator(lambda value: value and _check_port_range(value))] = (
        Field(None, description='Ports for data on this host, such as "5201-5300"; else any free one.')
    )
    cpus: Annotated[tuple[Cpu, ...], AfterValidator(_check_cpus)] = Field(
        (), description="Processors that carry the traffic; else the system chooses."
    )
    numa_node: Annotated[int | None, Bounds(COUNT, 0, 1023)] = Field(
        None, description="NUMA node whose processors carry the traffic."
    )
    nic: Annotated[str | None, Field(pattern=DEVICE_PATTERN)] = Field(
        None, description="Network interface that the traffic uses; checked by `pathlab hosts check`."
    )
    max_rate_bits_per_s: Annotated[int | None, Bounds(RATE, 1000, 10**14)] = Field(
        None, alias="max_rate", description="No trial sends faster from this host, whatever it requests."
    )
    max_bytes: Annotated[int | None, Bounds(BYTES, 1, 10**15)] = Field(
        None, description="No trial carries more through this host; one that would ends early."
    )
    max_time_ns: Annotated[int | None, Bounds(TIME, 10**9, 7 * 24 * 3600 * 10**9)] = Field(
        None,
        alias="max_time",
        description="No trial, with its set-up and its drain, takes longer on this host.",
    )
    disk_folder: Folder | None = Field(
        None, description="Folder on the disk that a background load uses here; else that of `[background]`."
    )
    tags: tuple[Annotated[str, Field(pattern=TAG_PATTERN)], ...] = Field(
        (), exclude=True, description="Words to group hosts by."
    )

    @model_validator(mode="before")
    @classmethod
    def _default_transport(cls, value: Any) -> Any:
        if isinstance(value, dict) and "transport" not in value and value.get("address") is not None:
            return {**value, "transport": "ssh"}
        return value

    @model_validator(mode="after")
    def _check_local(self) -> Host:
        if self.transport == "local":
            for name in SSH_ONLY:
                if getattr(self, name) not in (None, ()):
                    text = f"'{name}' is of hosts reached by SSH; expected transport = \"ssh\", or no {name}"
                    raise PydanticCustomError("local_host", "{text}", {"text": text})
        return self

    @property
    def agent_arguments(self) -> tuple[str, ...]:
        """The caps, as the host's agent is started with them."""
        seconds = None if self.max_time_ns is None else f"{self.max_time_ns / 1e9:g}"
        caps = {
            "--max-rate": self.max_rate_bits_per_s,
            "--max-bytes": self.max_bytes,
            "--max-seconds": seconds,
        }
        return tuple(str(word) for flag, cap in caps.items() if cap is not None for word in (flag, cap))


class HostFile(FileTable):
    """A ``hosts.toml``: the same tables of hosts as in a campaign, to be shared between campaigns."""

    hosts: dict[HostName, Host]
