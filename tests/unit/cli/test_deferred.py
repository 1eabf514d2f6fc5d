"""Imports of a command wait until they are loaded, each block of them by itself."""

from types import ModuleType
from typing import Any

SOURCE = """
from pathlab.cli.deferred import DeferredImports

with DeferredImports() as first:
    import json
    from os import path as paths
with DeferredImports() as second:
    from xml import dom

def dump():
    import math
    return json.dumps([paths.join("a", "b"), math.floor(1.5)])
"""


def test_names_have_their_values_once_their_block_is_loaded() -> None:
    names: dict[str, Any] = {"__name__": "made"}
    exec(SOURCE, names)
    assert not any(isinstance(names[name], ModuleType) for name in ("json", "paths", "dom"))
    names["first"].load()
    assert names["dump"]() == '["a/b", 1]'
    assert not isinstance(names["dom"], ModuleType)
    names["paths"] = "replaced by a test"
    for block in ("first", "second"):
        names[block].load()
    assert (names["paths"], names["dom"].__name__) == ("replaced by a test", "xml.dom")
