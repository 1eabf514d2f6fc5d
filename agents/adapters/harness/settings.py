"""The settings of an adapter's program, with the defaults and ranges of CONTRACT.md."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Tuple

CONTRACT = 1
SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS
CORE_MAX = 1023
DEFAULT_NAME = "adapter"
_TEXTS = {
    "name": DEFAULT_NAME,
    "variant": "",
    "address": "127.0.0.1",
    "local_address": "",
    "folder": "",
    "scope": "pathlab",
}
#: Default, minimum, maximum; a default of None may be given as null.
_INTEGERS: Dict[str, Tuple[Optional[int], int, int]] = {
    "contract": (CONTRACT, -(1 << 63), 1 << 63),
    "port": (0, 0, 65535),
    "bytes": (64, 4, 65536),
    "streams": (1, 1, 1024),
    "interval_ns": (SECOND_NS, SECOND_NS // 100, 10 * SECOND_NS),
    "warmup_ns": (0, 0, DAY_NS),
    "duration_ns": (2 * SECOND_NS, 1, DAY_NS),
    "rate_per_s": (None, 1, 100_000_000),
    "stall_ns": (SECOND_NS, SECOND_NS // 1000, DAY_NS),
    "priority": (None, 1, 98),
    "requests": (None, 1, 1 << 62),
}


class AdapterError(Exception):
    """A failure of an adapter, with its stage as in CONTRACT.md."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage, self.text = stage, text


class Settings:
    """What the program was told, one attribute per setting; ``stream`` is the number of a connection."""

    stream = 0

    def __init__(self, text: str, role: str) -> None:
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise AdapterError("contract", f"settings: not a JSON object: {error}") from error
        if not isinstance(given, dict):
            raise AdapterError("contract", f"settings: not a JSON object: '{text[:20]}'")
        known: Dict[str, Any] = {
            **_TEXTS,
            **{key: row[0] for key, row in _INTEGERS.items()},
            "role": role,
            "cores": [],
        }
        for key in given:
            if key not in known:
                raise AdapterError("contract", f"settings: unknown key '{key[:40]}'")
        self.__dict__.update(known, **given)
        for key in (*_TEXTS, "role"):
            if not isinstance(getattr(self, key), str):
                raise AdapterError("contract", f"settings: {key} must be a text")
        for key, row in _INTEGERS.items():
            setattr(self, key, self._check(key, *row))
        self.cores: List[int] = [] if self.__dict__["cores"] is None else self.__dict__["cores"]
        self._check_all(role)

    def _check(self, key: str, default: Optional[int], minimum: int, maximum: int) -> Optional[int]:
        value = getattr(self, key)
        if value is None and (default is None or key == "port"):
            return default
        whole = type(value) is int or (isinstance(value, float) and value.is_integer())
        if not whole or not minimum <= value <= maximum:
            null = "null or " if default is None else ""
            raise AdapterError(
                "contract", f"settings: {key} must be {null}a whole number, {minimum} to {maximum}"
            )
        return int(value)

    def _check_all(self, role: str) -> None:
        if self.contract != CONTRACT:
            raise AdapterError(
                "contract", f"this program has contract {CONTRACT}, its settings have {self.contract}"
            )
        if self.role != role:
            raise AdapterError("contract", f"settings: role is '{self.role}', the command line has '{role}'")
        known = isinstance(self.cores, list) and all(type(core) is int for core in self.cores)
        if not known or not all(0 <= core <= CORE_MAX for core in self.cores):
            raise AdapterError("contract", f"settings: cores must be a list of cores, 0 to {CORE_MAX}")
        if re.fullmatch("[a-z][a-z0-9]{0,31}", self.scope) is None:
            raise AdapterError(
                "contract", "settings: scope must be small letters and digits, the first one a letter"
            )
        if self.requests is not None and self.requests < self.streams:
            raise AdapterError("contract", f"settings: {self.requests} requests for {self.streams} streams")

    def of_stream(self, stream: int) -> "Settings":
        settings = object.__new__(Settings)
        settings.__dict__.update(self.__dict__, stream=stream)
        return settings

    def __getattr__(self, name: str) -> Any:  # for type checkers: attributes come from the JSON
        raise AttributeError(name)
