"""Constraints on combinations: ``streams * window <= 16MiB``.

The grammar is a small part of Python's expressions, read by ``ast`` and evaluated here, never by Python:
factors by the file's keys, numbers with units, texts in quotes, ``true`` and ``false``, ``+ - *``,
``== != < <= > >=``, ``and or not`` and brackets. A level that is left to the system (``auto``, ``none``,
``default``, ``any``) has no number: whatever compares it by size is false.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pathlab.campaign.factors import FACTORS_BY_KEY
from pathlab.campaign.source_text import list_names, suggest_name
from pathlab.errors import UsageError
from pathlab.units import (
    BYTE_UNITS,
    RATE_UNITS,
    TIME_UNITS,
    parse_bytes,
    parse_rate_bits_per_s,
    parse_time_ns,
)

CONSTRAINT_EXPECTED = 'expected a comparison such as "streams * window <= 16MiB"'
TEXT_MAX = 500
SWITCHES = tuple(key for key, factor in FACTORS_BY_KEY.items() if isinstance(factor.default, bool))
TRUTHS = {"true": True, "false": False}
#: Words for a level that is left to the system.
UNSET_WORDS = frozenset(factor.unset for factor in FACTORS_BY_KEY.values() if factor.unset)

_TOKEN = re.compile(r"""("[^"]*"|'[^']*')|(?<![\w.])(\d+(?:\.\d+)?)\s*([A-Za-zµμ]+(?:/s)?)(?![\w.])""")
_NOT_UNITS = ("and", "or", "not", "in", "is", "if", "else")
_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_NODES = (ast.Expression, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.BinOp, ast.Compare, ast.expr_context)

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One constraint, ready to be tested; ``factors`` are the keys that it names."""

    text: str
    factors: frozenset[str]
    condition: ast.expr

    def holds(self, levels: Values) -> bool:
        """Whether levels, by the file's keys, meet it. A factor that is not given is left to the system."""
        return bool(_evaluate(self.condition, levels))


def parse_constraint(text: str) -> Constraint:
    """Read one constraint. Raises UsageError naming what is wrong."""
    if len(text) > TEXT_MAX:
        raise UsageError(f"the constraint is longer than {TEXT_MAX} characters", hint=CONSTRAINT_EXPECTED)
    plain = " ".join(_TOKEN.sub(_replace_quantity, text).split())
    try:
        tree = ast.parse(plain, mode="eval")
        if not _is_condition(tree.body):
            raise UsageError(f"'{text}' compares nothing", hint=CONSTRAINT_EXPECTED)
        names = [name for node in ast.walk(tree) if (name := _check_node(node))]
        return Constraint(text=text, factors=frozenset(names), condition=tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"'{text}' is not understood", hint=CONSTRAINT_EXPECTED) from error


def _replace_quantity(result: re.Match[str]) -> str:
    """A number with its unit as a plain number; a text in quotes as it is."""
    quoted, number, unit = result.groups()
    if quoted is not None or unit in _NOT_UNITS:
        return result.group(0)
    written = number + unit
    if unit in TIME_UNITS:
        return str(parse_time_ns(written))
    if unit in BYTE_UNITS and unit in RATE_UNITS:
        raise UsageError(
            f"'{written}' may be bytes or bits", hint=f"expected '{written}iB' or '{written}bit/s'"
        )
    if unit in BYTE_UNITS or unit == "KB":  # which parse_bytes refuses, and says why
        return str(parse_bytes(written))
    if unit in RATE_UNITS:
        return str(parse_rate_bits_per_s(written))
    raise UsageError(
        f"'{unit}' is not a unit", hint="expected one such as KiB, MiB, kB, Mbit/s, Gbit/s, ms, s or min"
    )


def _is_condition(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        return all(_is_condition(value) for value in node.values)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and _is_condition(node.operand)
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Name) and node.id in SWITCHES)


def _check_node(node: ast.AST) -> str | None:
    """Return the factor that a node names, if any. Raises UsageError for what is not part of the grammar."""
    if isinstance(node, ast.Name):
        if node.id not in FACTORS_BY_KEY and node.id not in TRUTHS:
            raise UsageError(
                f"'{node.id}' is not a factor{suggest_name(node.id, FACTORS_BY_KEY)}",
                hint=f"expected one of {list_names(FACTORS_BY_KEY)}",
            )
        return node.id if node.id in FACTORS_BY_KEY else None
    if isinstance(node, ast.Constant):
        known = isinstance(node.value, (int, float, str))
    elif isinstance(node, (ast.operator, ast.cmpop, ast.unaryop)):
        known = type(node) in _OPERATORS or isinstance(node, ast.Not)
    else:
        known = isinstance(node, _NODES)
    if not known:
        raise UsageError(
            "only factors, numbers with units, texts in quotes, + - *, comparisons, and, or, not are known",
            hint=CONSTRAINT_EXPECTED,
        )
    return None


def _evaluate(node: ast.expr, values: Values) -> Any:
    """A number, a text, a truth value, or None for a level that is left to the system."""
    if isinstance(node, ast.Name):
        level: Any = TRUTHS.get(node.id, values.get(node.id))
        return None if level in UNSET_WORDS else level
    if isinstance(node, ast.Constant):
        return None if node.value in UNSET_WORDS else node.value
    if isinstance(node, ast.BoolOp):
        joined = all if isinstance(node.op, ast.And) else any
        return joined(_evaluate(value, values) for value in node.values)
    if isinstance(node, ast.UnaryOp):
        return not _evaluate(node.operand, values)
    if isinstance(node, ast.BinOp):
        return _compute(node.op, _evaluate(node.left, values), _evaluate(node.right, values))
    assert isinstance(node, ast.Compare)  # parse_constraint lets nothing else through
    operands = [_evaluate(operand, values) for operand in (node.left, *node.comparators)]
    pairs = zip(node.ops, itertools.pairwise(operands), strict=True)
    return all(_compute(kind, left, right) for kind, (left, right) in pairs)


def _compute(kind: ast.operator | ast.cmpop, left: Any, right: Any) -> Any:
    """None, which is false, where a level without a number is added, multiplied or compared by size."""
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    return _OPERATORS[type(kind)](left, right) if numbers or isinstance(kind, (ast.Eq, ast.NotEq)) else None
