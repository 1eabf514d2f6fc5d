"""Joining of ES modules: their order, and what cannot be joined."""

from __future__ import annotations

import pytest

from pathlab.web.modules import ModuleError, join_modules, list_modules

FILES = {
    "page/main.js": """\
import { base } from "../core/base.js";
import {
  sum as add,
} from "../core/sum_all.js";
add(base);
""",
    "core/sum_all.js": """\
import { base } from "./base.js";
export function sum(more) {
  return base + more;
}
""",
    "core/base.js": "// A number.\nexport const base = 1;\n",
}


def test_modules_run_after_those_that_they_import() -> None:
    modules = list_modules("page/main.js", FILES.__getitem__)
    assert [module.path for module in modules] == ["core/base.js", "core/sum_all.js", "page/main.js"]
    assert join_modules("page/main.js", FILES.__getitem__, offered_as="offered") == (
        '(() => {\n"use strict";\nconst modules = {};\nwindow.offered = modules;\n'
        "// core/base.js\nmodules.base = (() => {\n// A number.\nconst base = 1;\nreturn { base };\n})();\n"
        "// core/sum_all.js\nmodules.sumAll = (() => {\nconst { base } = modules.base;\n"
        "function sum(more) {\n  return base + more;\n}\nreturn { sum };\n})();\n"
        "// page/main.js\nmodules.main = (() => {\nconst { base } = modules.base;\n"
        "const { sum: add } = modules.sumAll;\nadd(base);\nreturn {  };\n})();\n})();\n"
    )


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ('import { main } from "../page/main.js";\n', "page/main.js → core/base.js → page/main.js"),
        ("export const other = 1;\n", "core/sum_all.js: core/base.js does not export base"),
        ("export let base = 1;\n", "core/base.js: cannot join 'export let base = 1;'"),
        ("export default 1;\n", "core/base.js: cannot join 'export default 1;'"),
        ('import "./style.js";\n', "core/base.js: cannot join 'import"),
        ('export const base = await import("./other.js");\n', "core/base.js: cannot join 'import"),
        ('import { a } from "./a/base.js";\nexport const base = 1;\n', "same file name"),
    ],
)
def test_what_cannot_be_joined_is_named(base: str, problem: str) -> None:
    files = {**FILES, "core/base.js": base, "core/a/base.js": "export const a = 1;\n"}
    with pytest.raises(ModuleError, match=problem):
        join_modules("page/main.js", files.__getitem__)
