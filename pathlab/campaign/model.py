"""The campaign file as a frozen model: the one place where its keys, defaults and bounds are named.

Keys in the file are short (``duration = "2s"``); attributes carry their unit (``duration_ns``). A file is
read by ``pathlab.campaign.load``, which also finds contradictions between keys and reports every mistake at
once; ``Campaign.from_stored`` reads back the form that a results file keeps.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from pathlab.campaign.checks import LOCAL as LOCAL
from pathlab.campaign.lab_model import Lab
from pathlab.campaign.part import HOST_NAME_PATTERN as HOST_NAME_PATTERN
from pathlab.campaign.part import MIB, HostName, Part, Seed
from pathlab.campaign.quantities import STORED, Quantity
from pathlab.units import SECOND_NS

FORMAT = 1
CAMPAIGN_NAME_PATTERN = r"^[a-z0-9][a-z0-9-]{0,62}$"
CONGESTION_PATTERN = r"^[a-z0-9_-]{1,15}$"
STREAMS_MAX = 4096
HOUR_NS = 3600 * SECOND_NS

Streams = Annotated[int, Field(strict=True, ge=1, le=STREAMS_MAX)]
Window = Annotated[int | None, Quantity.bytes(1024, 1024 * MIB, word="auto")]


class AllowLevels:
    """A factor is a list of levels; a single level may stand without brackets."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        levels = handler(schema)
        return {"anyOf": [levels["items"], levels]}


def _wrap_level(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


def _read_congestion(value: Any, info: ValidationInfo) -> Any:
    if value is None and info.context == STORED:
        return None
    if not isinstance(value, str):
        raise PydanticCustomError("name", "{text}", {"text": f"'{value}' is not a name in quotes"})
    return None if value == "default" else value


def _read_address(value: Any) -> str:
    try:
        return str(ipaddress.ip_address(value if isinstance(value, str) else "")) if value else ""
    except ValueError as error:
        text = f"'{value}' is not a numeric address; expected IPv4 or IPv6 such as \"192.0.2.7\""
        raise PydanticCustomError("address", "{text}", {"text": text}) from error


def _refuse_ssh(value: Any) -> Any:
    if value == "ssh":
        text = "'ssh' is not supported yet by this version; expected \"local\" (this machine)"
        raise PydanticCustomError("transport", "{text}", {"text": text})
    return value


Congestion = Annotated[str | None, Field(pattern=CONGESTION_PATTERN), BeforeValidator(_read_congestion)]
Address = Annotated[str, BeforeValidator(_read_address)]


class MeasuredPath(Part):
    """An ordered pair of hosts and the addresses used; the reverse direction is another path."""

    source: HostName = Field(description="The host that sends.")
    destination: HostName = Field(description="The host that receives.")
    source_address: Address | None = Field(None, description="Address to send from; else the system chooses.")
    destination_address: Address | None = Field(None, description="Address to send to; else the host's own.")


class Host(Part):
    """A host that takes part, besides `local` (this machine, always known) and the hosts of the lab."""

    transport: Annotated[Literal["local"], BeforeValidator(_refuse_ssh)] = Field(
        description="How PathLab reaches the host; `local` is this machine. SSH comes in a later version."
    )


class Factors(Part):
    """What is varied: every combination of the levels is one cell, measured once per cycle and path."""

    streams: Annotated[
        tuple[Streams, ...], Field(min_length=1), AllowLevels(), BeforeValidator(_wrap_level)
    ] = Field(description="Number of parallel TCP connections.")
    window_bytes: Annotated[
        tuple[Window, ...], Field(min_length=1), AllowLevels(), BeforeValidator(_wrap_level)
    ] = Field(
        (None,),
        alias="window",
        description="Socket buffer asked for, per stream, at both ends; `auto` leaves it to the kernel.",
    )
    congestion: Annotated[
        tuple[Congestion, ...], Field(min_length=1), AllowLevels(), BeforeValidator(_wrap_level)
    ] = Field((None,), description="Congestion control, set per socket; `default` is the kernel's choice.")


class Trial(Part):
    """How one measurement runs."""

    warmup_ns: Annotated[int, Quantity.time(0, HOUR_NS)] = Field(
        SECOND_NS, alias="warmup", description="Traffic before the steady window; not counted."
    )
    duration_ns: Annotated[int, Quantity.time(SECOND_NS // 100, 24 * HOUR_NS)] = Field(
        10 * SECOND_NS, alias="duration", description="The steady window, in which throughput is counted."
    )
    interval_ns: Annotated[int, Quantity.time(SECOND_NS // 100, 10 * SECOND_NS)] = Field(
        SECOND_NS // 10, alias="interval", description="Length of one record of bytes, TCP state and CPU."
    )
    drain_ns: Annotated[int, Quantity.time(SECOND_NS // 100, HOUR_NS)] = Field(
        10 * SECOND_NS,
        alias="drain",
        description="The longest wait, after the sender stopped, for what is still queued to arrive.",
    )


class Probes(Part):
    """Round-trip probes: during the steady window, and after the traffic ended and the queue drained."""

    interval_ns: Annotated[int, Quantity.time(100_000, 60 * SECOND_NS)] = Field(
        SECOND_NS // 50, alias="interval", description="Time between two probes."
    )
    payload_bytes: Annotated[int, Quantity.bytes(16, 8 * 1024)] = Field(
        56, alias="payload", description="Data in one probe."
    )
    timeout_ns: Annotated[int, Quantity.time(SECOND_NS // 100, 300 * SECOND_NS)] = Field(
        SECOND_NS, alias="timeout", description="A probe without an answer for so long is lost."
    )
    unloaded: Annotated[int, Field(strict=True, ge=0, le=1_000_000)] = Field(
        50, description="Number of probes after the traffic."
    )


class Campaign(Part):
    """A path set, factor levels and cycles: what is measured, in which order, and how."""

    format: Annotated[Literal[1], Field(description="Version of this file format.")]
    name: Annotated[str, Field(pattern=CAMPAIGN_NAME_PATTERN, description="Short name.")]
    title: Annotated[str, Field(min_length=1, max_length=200, description="Title of the report.")]
    description: str = Field("", description="What the campaign is for, in a few sentences.")
    seed: Seed = Field(description="Seed of the random order; the same seed gives the same order.")
    cycles: Annotated[int, Field(strict=True, ge=1, le=100_000)] = Field(
        1, description="Passes over all combinations."
    )
    order: Literal["random", "given"] = Field(
        "random",
        description="Order within a cycle: drawn afresh for each cycle, or as the factors are given.",
    )
    paths: tuple[MeasuredPath, ...] = Field(
        min_length=1, description="What is measured, each from source to destination."
    )
    hosts: dict[HostName, Host] = Field(default_factory=dict, description="Hosts by name.")
    factors: Factors = Field(description="What is varied.")
    trial: Trial = Field(
        default_factory=lambda: Trial.model_validate({}), description="How one measurement runs."
    )
    probes: Probes = Field(
        default_factory=lambda: Probes.model_validate({}), description="Round-trip probes."
    )
    lab: Lab | None = Field(None, description="Hosts and links emulated on this machine.")

    @classmethod
    def from_stored(cls, model: Mapping[str, Any]) -> Campaign:
        """Read back what ``to_stored`` gave; values are in the units that the names say."""
        return cls.model_validate(dict(model), by_name=True, by_alias=False, context=STORED)

    def to_stored(self) -> dict[str, Any]:
        """The model as JSON, keyed by attribute names (``duration_ns``), as a results file keeps it."""
        return self.model_dump(mode="json", by_alias=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of the model; decides whether a results file may be resumed."""
        canonical = json.dumps(self.to_stored(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()

    @property
    def host_names(self) -> tuple[str, ...]:
        """Every host that a path may name: ``local``, the declared ones, and those of the lab."""
        return (LOCAL, *self.hosts, *(self.lab.hosts if self.lab else ()))
