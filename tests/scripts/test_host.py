"""The host of scripts itself."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pathlab import web
from pathlab.report.explorer.page import MAIN, read_module
from pathlab.web.modules import list_modules
from tests.scripts.host import ScriptError, ScriptHost


def test_values_pass_in_both_directions(scripts: ScriptHost) -> None:
    given = {"text": "東京 \ud800", "list": [1, 2.5, None], "true": True}
    assert scripts.evaluate("(one) => one", given) == given
    found = scripts.evaluate("() => [new Float64Array([NaN, -Infinity]), new Map([[1, 2]]), undefined]")
    assert math.isnan(found[0][0])
    assert found == [[found[0][0], -math.inf], [[1, 2]], None]


def test_what_a_script_throws_is_raised(scripts: ScriptHost) -> None:
    with pytest.raises(ScriptError, match="TypeError: no such thing"):
        scripts.evaluate("() => { throw new TypeError('no such thing'); }")
    with pytest.raises(ScriptError, match="later"):
        scripts.evaluate("() => Promise.reject(new Error('later'))")


def test_the_joined_script_offers_what_its_modules_export(scripts: ScriptHost) -> None:
    modules = {module.name: module.path for module in list_modules(MAIN, read_module)}
    core = {
        name: (Path(web.__file__).parent / path).as_uri()
        for name, path in modules.items()
        if path.startswith("core/")
    }
    differ = """async (core) => {
      const pairs = await Promise.all(Object.entries(core).map(async ([name, file]) =>
        [Object.keys(await import(file)).sort().join(), Object.keys(pathlabExplorer[name]).sort().join()]));
      return pairs.filter(([own, joined]) => own !== joined);
    }"""
    assert core
    assert scripts.evaluate(differ, core) == []


def test_scripts_begin_anew_for_each_test(script_host: ScriptHost) -> None:
    script_host.load()
    script_host.evaluate("() => { pathlabExplorer.mark = 1; }")
    script_host.load()
    assert script_host.evaluate("() => [pathlabExplorer.mark, Object.keys(pathlabExplorer).length > 10]") == [
        None,
        True,
    ]
