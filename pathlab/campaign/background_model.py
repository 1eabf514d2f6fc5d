"""The ``[background]`` table: the load of the factor ``background`` alongside the traffic of a trial."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pathlab.campaign.file_table import MIB, FileTable
from pathlab.campaign.quantities import BYTES, COUNT, RATE, RATIO, Bounds

#: Blocks that the engine reads past the page cache are multiples of this (native/PROTOCOL.md).
BLOCK_BYTES = 4096
NETWORK_PATH_PATTERN = r"^[^:\s]+:[^:\s]+$"


def _check_folder(value: str) -> str:
    if not value.startswith("/"):
        text = f"'{value}' is not a whole path; expected one such as \"/var/tmp\""
        raise PydanticCustomError("folder", "{text}", {"text": text})
    return value


Folder = Annotated[str, AfterValidator(_check_folder)]


class BackgroundSettings(FileTable):
    """The load of the levels `cpu`, `disk`, `network` and `combined` of the factor `background`."""

    on: Literal["destination", "source", "both"] = Field(
        "destination", description="The ends of the path whose cores and disk are loaded."
    )
    cpu_threads: Annotated[int | None, Bounds(COUNT, 1, 1024)] = Field(
        None, description="Threads that compute on each of them; left out: as many as cores."
    )
    disk_folder: Folder = Field(
        "/var/tmp",
        description="Folder on the disk to be loaded; a host may have its own. The file there has no name.",
    )
    disk_bytes: Annotated[int, Bounds(BYTES, MIB, 2**40)] = Field(
        256 * MIB, description="Size of the file; the folder needs four times as much free space."
    )
    disk_write_bytes: Annotated[int, Bounds(BYTES, BLOCK_BYTES, 64 * MIB)] = Field(
        MIB, alias="disk_write", description="Bytes of one write, each of which is synced and read again."
    )
    network_path: Annotated[str | None, Field(pattern=NETWORK_PATH_PATTERN)] = Field(
        None, description='Another pair of hosts, such as "c:d": from the first to the second by TCP.'
    )
    network_rate_bits_per_s: Annotated[int | None, Bounds(RATE, 1000, 10**14)] = Field(
        None, alias="network_rate", description="Rate of that traffic; left out: as fast as it can."
    )
    nice: Annotated[int, Bounds(COUNT, 1, 19)] = Field(
        19, description="Niceness of the load: 19 gives way to everything else."
    )
    least_share_ratio: Annotated[float, Bounds(RATIO)] = Field(
        0.2,
        alias="least_share",
        description="Share of its rate alone, or of its threads' time, below which a load is flagged "
        "`background-weak`.",
    )

    @model_validator(mode="after")
    def _check_sizes(self) -> BackgroundSettings:
        if self.disk_write_bytes % BLOCK_BYTES or self.disk_bytes % self.disk_write_bytes:
            text = "disk_bytes and disk_write do not fit; expected a disk_write of whole 4096 bytes"
            text += ", and a disk_bytes that is a multiple of it"
            raise PydanticCustomError("background_sizes", "{text}", {"text": text})
        return self

    @property
    def network_hosts(self) -> tuple[str, ...]:
        """Sender and receiver of the load's traffic; empty without a ``network_path``."""
        return tuple(self.network_path.split(":")) if self.network_path else ()
