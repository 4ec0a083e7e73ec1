"""Evaluate the pseudo-code of AMD's instruction set manuals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import gmpy2
from isa_syntax import Node, parse
from isa_values import (
    CONSTANTS,
    EXACT,
    FUNCTIONS,
    Memory,
    Value,
    cast,
    compute,
    convert,
    integer,
    is_subnormal,
    power_of_two,
    rounded,
)

__all__ = ["run"]

_COMPARES: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<>": lambda a, b: a < b or a > b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": gmpy2.add, "-": gmpy2.sub, "*": gmpy2.mul, "/": gmpy2.div
}  # fmt: skip
_INTEGER: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "/": lambda a, b: a // b, "%": lambda a, b: a % b,
}  # fmt: skip


class _Return(Exception):
    pass


class _Break(Exception):
    pass


def run(program: list[Node], names: dict[str, Any], library: dict[str, str] | None = None, exact: bool = False) -> None:
    """Execute a program, and update ``names``, its variables (``S0``, ``D0``, ``VCC``, ``laneId``, ...).

    ``library`` has the texts of other instructions, which programs call by their lower-case names. With ``exact`` (the
    CLAMP bit), integer arithmetic does not wrap, and results outside of their type saturate.
    """
    _Run(names, library or {}, exact).block(program)


class _Run:
    def __init__(self, names: dict[str, Any], library: dict[str, str], exact: bool) -> None:
        self.names, self.library, self.exact = names, library, exact

    def block(self, body: list[Node]) -> None:
        for node in body:
            getattr(self, "do_" + node[0])(*node[1:])

    def do_if(self, branches: Any, otherwise: Any) -> None:
        for condition, body in branches:
            if self.true(condition):
                return self.block(body)
        return self.block(otherwise)

    def do_for(self, name: str, first: Node, last: Node, body: Any) -> None:
        low, high = self.value(first), self.value(last)
        for i in range(low.number, high.number + 1):
            self.names[name] = integer(i, low.kind, max(low.width, 8))
            try:
                self.block(body)
            except _Break:
                return

    def do_declare(self, name: str, kind: str, width: int, count: int | None) -> None:
        if name in self.names:  # operands are declared in some texts
            return
        zero = Value(kind, width, 0)
        self.names[name] = zero if count is None else [zero] * count

    def do_lambda(self, name: str, parameters: Any, body: Any) -> None:
        self.names[name] = (parameters, body)

    def do_return(self, value: Node) -> None:
        raise _Return(self.value(value))

    def do_break(self) -> None:
        raise _Break

    def do_call(self, value: Node) -> None:
        self.value(value)

    def do_assign(self, target: Node, value: Node) -> None:
        self.store(target, self.value(value))

    def store(self, target: Node, value: Any) -> None:
        if target[0] == "join":
            low = 0
            for part in reversed(target[1]):
                width = part[3]
                self.store(part, value.cut(low, width))
                low += width
            return
        if target[0] == "name":
            old = self.names.get(target[1])
            if isinstance(old, Value) and target[1] in ("D0", "VCC", "EXEC", "SCC", "RETURN_DATA"):
                ones = (1 << min(value.width, old.width)) - 1
                value = Value(old.kind, old.width, old.bits & ~ones | value.bits & ones)
            elif isinstance(old, Value) and isinstance(value, Value) and not value.is_float and not old.is_float:
                value = integer(value.number, value.kind if self.exact else old.kind, max(old.width, value.width))
            self.names[target[1]] = value
            return
        if target[0] == "index":
            row = self.row(target[1])
            if row is not None:
                row[self.value(target[2]).number] = value
                return
        if target[1] == ("name", "MEM"):
            self.names["MEM"].write(self.value(target[2]).number, value.width, value.bits)
            return
        if target[0] == "field" and target[1][1] == ("name", "MEM"):
            bits = value.bits if value.is_float else integer(value.number, target[2], target[3]).bits
            self.names["MEM"].write(self.value(target[1][2]).number, target[3], bits)
            return
        base, low, kind, width = self.place(target)
        if kind and not value.is_float and kind not in ("F", "BF"):
            number = value.number
            if self.exact and base in ("D0", "tmp") and kind in "UI":
                top = (1 << width - (kind == "I")) - 1
                number = max(min(number, top), -1 - top if kind == "I" else 0)
            value = integer(number, kind, width)
        elif kind in ("F", "BF") and (value.kind, value.width) != (kind, width):
            value = cast(value, kind, width) if value.width else rounded(value.number, kind, width)
        ones = (1 << width) - 1
        old = self.names.setdefault(base, Value("B", 128, 0))
        bits = old.bits & ~(ones << low) | (value.bits & ones) << low
        self.names[base] = Value(old.kind, old.width, bits & (1 << old.width) - 1)

    def row(self, node: Node) -> list[Any] | None:
        """Return the list that a node names, or ``None``."""
        if node[0] == "name":
            found = self.names.get(node[1])
            return found if isinstance(found, list) else None
        if node[0] == "index" and (outer := self.row(node[1])) is not None:
            found = outer[self.value(node[2]).number]
            return found if isinstance(found, list) else None
        return None

    def place(self, node: Node) -> tuple[str, int, str, int]:
        """Return the variable, lowest bit, kind and width that a node names."""
        if node[0] == "name":
            old = self.names.get(node[1])
            return node[1], 0, "", old.width if isinstance(old, Value) else 128
        base, low, _, _ = self.place(node[1])
        if node[0] == "field":
            return base, low, node[2], node[3]
        if node[0] == "slice":
            first, last = self.value(node[2]).number, self.value(node[3]).number
            return base, low + min(first, last), "", abs(first - last) + 1
        if node[0] == "index":
            return base, low + self.value(node[2]).number, "", 1
        raise TypeError(f"assignment to {node[0]}")

    def true(self, node: Node) -> bool:
        return bool(self.value(node).number != 0)

    def value(self, node: Node) -> Any:
        return getattr(self, "get_" + node[0])(*node[1:])

    def get_value(self, value: Value) -> Value:
        return value

    def get_name(self, name: str) -> Any:
        if name in self.names:
            return self.names[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise NameError(f"pseudo-code name {name}")

    def get_field(self, inner: Node, kind: str, width: int) -> Value:
        if inner[:2] == ("index", ("name", "MEM")):
            return Value(kind, width, self.names["MEM"].read(self.value(inner[2]).number, width))
        x = self.value(inner)
        if x.is_float and kind in ("F", "BF"):
            return cast(x, kind, width)  # INF.f32
        if x.width == 200:
            return x  # saturated when it is stored
        return (
            integer(x.number, kind, width) if kind not in ("F", "BF") else Value(kind, width, x.bits & (1 << width) - 1)
        )

    def get_slice(self, inner: Node, first: Node, last: Node) -> Value:
        x, high, low = self.value(inner), self.value(first).number, self.value(last).number
        if high >= low:
            return x.cut(low, high - low + 1)
        bits = x.cut(high, low - high + 1).bits  # reversed
        return Value("U", low - high + 1, int(f"{bits:0{low - high + 1}b}"[::-1], 2))

    def get_part(self, inner: Node, low: Node, width: Node) -> Value:
        return self.value(inner).cut(self.value(low).number, self.value(width).number)

    def get_index(self, inner: Node, at: Node) -> Any:
        x, i = self.value(inner), self.value(at).number
        if isinstance(x, Memory):
            return Value("B", 32, x.read(i, 32))
        return x[i] if isinstance(x, list) else x.cut(i, 1)

    def get_cast(self, kind: str, width: int, inner: Node) -> Value:
        return cast(self.value(inner), kind, width)

    def get_join(self, parts: list[Node]) -> Value:
        bits = width = 0
        for part in map(self.value, parts):
            bits, width = bits << part.width | part.bits, width + part.width
        return Value("B", width, bits)

    def get_also(self, target: Node, inner: Node) -> Any:
        value = self.value(inner)
        self.store(target, value)
        return value

    def get_choose(self, condition: Node, first: Node, second: Node) -> Value:
        return self.value(first if self.true(condition) else second)

    def get_unary(self, operator: str, inner: Node) -> Value:
        x = self.value(inner)
        if operator == "+":
            return x
        if operator == "!":
            return integer(x.number == 0, "U", 1)
        if operator == "~":
            return Value(x.kind, x.width, ~x.bits & (1 << x.width) - 1)
        if x.is_float:
            return Value(x.kind, x.width, x.bits ^ 1 << x.width - 1 if x.width else -x.bits)
        return integer(-x.number, "I", max(x.width, 32))

    def get_binary(self, operator: str, left: Node, right: Node) -> Value:
        if operator in ("&&", "||"):
            return integer(self.true(left) if self.true(left) == (operator == "||") else self.true(right), "U", 1)
        if operator == "==" and right[:2] == ("field", ("name", "DENORM")):
            return is_subnormal(self.value(left))
        a, b = self.value(left), self.value(right)
        if operator in _COMPARES:
            if a.is_float != b.is_float:
                raise TypeError(f"{a} {operator} {b}")
            return integer(_COMPARES[operator](a.number, b.number), "U", 1)
        if operator == "**":
            with gmpy2.context(EXACT):
                return Value("F", 0, power_of_two(b.number) if a.number == 2 else a.number**b.number)
        if a.is_float:
            return compute(_ARITHMETIC[operator], a, b)
        if operator in ("<<", ">>"):
            shifted = a.number << b.number if operator == "<<" else a.number >> b.number
            return integer(shifted, a.kind, max(a.width, 32))
        result = _INTEGER[operator](a.number, b.number)
        kind = "I" if a.kind == b.kind == "I" else "U"
        if operator in "&|^":
            kind = a.kind if a.kind == b.kind else "U"
        if self.exact and operator in "+-*":
            return integer(result, "I", 200)
        return integer(result, kind, max(a.width, b.width, 32))

    def get_apply(self, name: str, arguments: list[Node]) -> Any:
        values = [self.value(a) for a in arguments]
        if name in self.names:
            parameters, body = self.names[name]
            inner = _Run({**self.names, **dict(zip(parameters, values, strict=True))}, self.library, self.exact)
            try:
                inner.block(body)
            except _Return as result:
                return result.args[0]
            raise TypeError(f"{name} returns nothing")
        if name in FUNCTIONS:
            return FUNCTIONS[name](*values)
        if match := re.fullmatch(r"([a-z]+)(\d+)_to_([a-z]+)(\d*)", name):
            truncate = self.names.get("ROUND_MODE") == CONSTANTS["ROUND_TOWARD_ZERO"]
            return convert(values[0], match[3].upper(), int(match[4] or 16), truncate)
        if name in self.library:
            names = {"D0": Value("B", 64, 0), **{f"S{i}": v for i, v in enumerate(values)}}
            names.update({k: v for k, v in self.names.items() if k in ("IEEE", "laneId")})
            run(parse(self.library[name]), names, self.library)
            width = 32 if name.startswith(("v_sad_", "v_msad_")) else values[0].width
            return Value(values[0].kind, width, names["D0"].bits & (1 << width) - 1)
        raise NameError(f"pseudo-code function {name}")
