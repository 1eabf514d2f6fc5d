"""Constraints on combinations: ``streams * window <= 16MiB``.

The grammar is a small part of Python's expressions, read by ``ast`` and evaluated here, never by Python:
factors by the file's keys, numbers with units, texts in quotes, ``true`` and ``false``, ``+ - *``,
``== != < <= > >=``, ``and or not`` and brackets. A level that is left to the system (``auto``, ``none``,
``default``, ``any``) has no number: whatever compares it by size is false.
"""

from __future__ import annotations

import ast
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

FACTOR_KEYS = tuple(FACTORS_BY_KEY)
CONSTRAINT_EXPECTED = 'expected a comparison such as "streams * window <= 16MiB"'
TEXT_MAX = 500
SWITCHES = tuple(key for key, factor in FACTORS_BY_KEY.items() if isinstance(factor.default, bool))
#: Words for a level that is left to the system.
UNSET_WORDS = frozenset(factor.unset for factor in FACTORS_BY_KEY.values() if factor.unset)

_TOKEN = re.compile(r"""("[^"]*"|'[^']*')|(?<![\w.])(\d+(?:\.\d+)?)\s*([A-Za-zµμ]+(?:/s)?)(?![\w.])""")
_NOT_UNITS = ("and", "or", "not", "in", "is", "if", "else")
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

Values = Mapping[str, Any]
Evaluate = Callable[[Values], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One constraint, ready to be asked; ``factors`` are the keys that it speaks of."""

    text: str
    factors: frozenset[str]
    evaluate: Evaluate

    def holds(self, levels: Values) -> bool:
        """Whether levels, by the file's keys, meet it. A factor that is not given is left to the system."""
        return bool(self.evaluate(levels))


def parse_constraint(text: str) -> Constraint:
    """Read one constraint. Raises UsageError naming what is wrong."""
    if len(text) > TEXT_MAX:
        raise UsageError(f"the constraint is longer than {TEXT_MAX} characters", hint=CONSTRAINT_EXPECTED)
    plain = " ".join(_TOKEN.sub(_replace_quantity, text).split())
    try:
        tree = ast.parse(plain, mode="eval")
        if not _is_condition(tree.body):
            raise UsageError(f"'{text}' compares nothing", hint=CONSTRAINT_EXPECTED)
        names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        return Constraint(text=text, factors=names & set(FACTOR_KEYS), evaluate=_build(tree.body))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"'{text}' is not understood", hint=CONSTRAINT_EXPECTED) from error


def _replace_quantity(found: re.Match[str]) -> str:
    """A number with its unit as a plain number; a text in quotes as it is."""
    quoted, number, unit = found.groups()
    if quoted is not None or unit in _NOT_UNITS:
        return found.group(0)
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
        f"'{unit}' is no unit", hint="expected one such as KiB, MiB, kB, Mbit/s, Gbit/s, ms, s or min"
    )


def _is_condition(node: ast.expr) -> bool:
    if isinstance(node, ast.BoolOp):
        return all(_is_condition(value) for value in node.values)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and _is_condition(node.operand)
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Name) and node.id in SWITCHES)


def _build(node: ast.expr) -> Evaluate:
    if isinstance(node, ast.BoolOp):
        parts = [_build(value) for value in node.values]
        joined = all if isinstance(node.op, ast.And) else any
        return lambda values: joined(part(values) for part in parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        negated = _build(node.operand)
        return lambda values: not negated(values)
    if isinstance(node, ast.Compare):
        return _build_comparison(node)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        compute, left, right = _ARITHMETIC[type(node.op)], _build(node.left), _build(node.right)
        return lambda values: _compute(compute, left(values), right(values))
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str)):
        constant = None if node.value in UNSET_WORDS else node.value
        return lambda _values: constant
    if isinstance(node, ast.Name):
        return _build_name(node.id)
    raise UsageError(
        "only factors, numbers with units, texts in quotes, + - *, comparisons, and, or, not are understood",
        hint=CONSTRAINT_EXPECTED,
    )


def _build_name(name: str) -> Evaluate:
    if name in ("true", "True", "false", "False"):
        truth = name.lower() == "true"
        return lambda _values: truth
    if name not in FACTOR_KEYS:
        raise UsageError(
            f"'{name}' is no factor{suggest_name(name, FACTOR_KEYS)}",
            hint=f"expected one of {list_names(FACTOR_KEYS)}",
        )

    def read(values: Values) -> Any:
        level = values.get(name)
        return None if level in UNSET_WORDS else level

    return read


def _compute(compute: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    return compute(left, right) if numbers else None


def _build_comparison(node: ast.Compare) -> Evaluate:
    operands = [_build(operand) for operand in (node.left, *node.comparators)]
    compares = []
    for kind in node.ops:
        if type(kind) not in _COMPARISONS:
            raise UsageError("'in' and 'is' are not understood", hint=CONSTRAINT_EXPECTED)
        compares.append(_COMPARISONS[type(kind)])

    def evaluate(values: Values) -> bool:
        given = [operand(values) for operand in operands]
        return all(_compare(*part) for part in zip(compares, given, given[1:], strict=False))

    return evaluate


def _compare(compare: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    if compare in (operator.eq, operator.ne):
        return compare(left, right)
    sizes = isinstance(left, (int, float)) and isinstance(right, (int, float))
    return sizes and compare(left, right)
