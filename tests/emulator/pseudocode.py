"""An evaluator of the language in which AMD's instruction set manuals say what an instruction does.

``parse`` makes a program of the text of one instruction, ``run`` executes it for one lane. Values carry their type:
a kind (``U`` unsigned, ``I`` signed, ``F`` float, ``BF`` bfloat, ``B`` bits) and a width in bits. Floats are computed
with gmpy2, rounded to the type once per operation.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gmpy2

EXACT = gmpy2.context(precision=400, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max())
_WIDE = gmpy2.context(precision=400, emin=gmpy2.get_emin_min(), emax=1024)  # as exact, but overflows like an f64
_CONTEXTS = {
    ("F", 16): gmpy2.context(precision=11, emin=-23, emax=16, subnormalize=True),
    ("BF", 16): gmpy2.context(precision=8, emin=-132, emax=128, subnormalize=True),
    ("F", 32): gmpy2.context(precision=24, emin=-148, emax=128, subnormalize=True),
    ("F", 64): gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True),
    ("F", 0): EXACT,
}
FORMATS = {("F", 16): (10, 15), ("F", 32): (23, 127), ("F", 64): (52, 1023), ("BF", 16): (7, 127)}


@dataclass(frozen=True, slots=True)
class Value:
    """``bits`` of a type; for ``F`` of width 0, which is exact, ``bits`` is the number itself."""

    kind: str
    width: int
    bits: Any

    @property
    def is_float(self) -> bool:
        return self.kind in ("F", "BF")

    @property
    def number(self) -> Any:
        """A Python int, or an mpfr."""
        if self.kind == "I":
            return self.bits - (1 << self.width) if self.bits >> (self.width - 1) else self.bits
        return _float_of(self) if self.is_float else self.bits

    def cut(self, low: int, width: int) -> Value:
        return Value("U", width, self.bits >> low & (1 << width) - 1)


@functools.lru_cache(1 << 16)
def _float_of(x: Value) -> Any:
    if x.width == 0:
        return x.bits
    if x.kind == "BF":
        return gmpy2.mpfr(struct.unpack("<f", struct.pack("<I", x.bits << 16))[0])
    code, word = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[x.width]
    with gmpy2.context(EXACT):
        return gmpy2.mpfr(struct.unpack(code, struct.pack(word, x.bits))[0])


class Memory:
    """Bytes by address: ``MEM`` of a program."""

    def __init__(self, content: bytes) -> None:
        self.content = bytearray(content)

    def read(self, address: int, width: int) -> int:
        return int.from_bytes(self.content[address : address + width // 8], "little")

    def write(self, address: int, width: int, bits: int) -> None:
        self.content[address : address + width // 8] = bits.to_bytes(width // 8, "little")


def integer(number: int, kind: str = "I", width: int = 32) -> Value:
    return Value(kind, width, number & (1 << width) - 1)


def rounded(number: Any, kind: str, width: int, truncate: bool = False) -> Value:
    """The float of a type nearest to an exact number (ties to even); NaNs become the quiet one of the type."""
    if width == 0:
        return Value(kind, 0, number)
    with gmpy2.context(_CONTEXTS[kind, width], round=gmpy2.RoundToZero if truncate else gmpy2.RoundToNearest):
        result = float(gmpy2.mpfr(number))
    return Value(kind, width, _encode(result, kind, width))


def _nan_of(x: Value, kind: str, width: int) -> Value:
    """A NaN in another format: sign and the upper bits of the payload stay, so a signalling one stays signalling."""
    (old, _), (new, bias) = FORMATS[x.kind, x.width], FORMATS[kind, width]
    payload = x.bits & (1 << old) - 1
    payload = payload << new - old if new > old else payload >> old - new
    return Value(kind, width, x.bits >> x.width - 1 << width - 1 | (2 * bias + 1) << new | payload)


def _encode(x: float, kind: str, width: int) -> int:
    if x != x:
        fraction, bias = FORMATS[kind, width]
        return (2 * bias + 1) << fraction | 1 << (fraction - 1)
    if kind == "BF":
        return int.from_bytes(struct.pack("<f", x), "little") >> 16
    return int.from_bytes(struct.pack({16: "<e", 32: "<f", 64: "<d"}[width], x), "little")


def compute(function: Callable[..., Any], *operands: Value) -> Value:
    """A float operation in the type of its operands, rounded once; an exact operand takes the type of the others."""
    widest = max(operands, key=lambda v: v.width)
    if widest.width and not all(v.width for v in operands):
        with gmpy2.context(EXACT):
            return rounded(function(*(v.number for v in operands)), widest.kind, widest.width)
    with gmpy2.context(_CONTEXTS[widest.kind, widest.width]):
        result = function(*(v.number for v in operands))
        return Value(
            widest.kind, widest.width, result if not widest.width else _encode(float(result), widest.kind, widest.width)
        )


# --- text to tree ----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""\s*(?:(?P<sized>\d+'-?(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)U?)
    |(?P<cast>\d+'(?:BF|[UIFB]))
    |(?P<number>0x[0-9a-fA-F]+(?:ULL|LL|U)?|\d+\.\d+F?|\d+(?:ULL|LL|U|F)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<op>\+:|\*\*|<<|>>|<>|<=|>=|==|!=|&&|\|\||\+=|-=|[-+*/%&|^~!<>=?:;,.()\[\]{}]))""",
    re.VERBOSE,
)
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<>"), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"), ("**",),
)  # fmt: skip
Node = tuple[Any, ...]


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        text = re.sub(r"\b(?:WAVE_MODE|TRAPSTS)\.(?=[A-Z])", "", re.sub(r"//.*", "", text))
        at = 0
        while at < len(text.rstrip()):
            match = _TOKEN.match(text, at)
            if not match:
                raise SyntaxError(f"pseudo-code {text[at : at + 40]!r}")
            self.tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
            at = match.end()
        self.tokens.append(("end", ""))
        self.at = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at][1]

    def take(self, *expected: str) -> str:
        _, token = self.tokens[self.at]
        if expected and token not in expected:
            raise SyntaxError(f"{token!r} instead of {' or '.join(expected)}")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.next == token and self.tokens[self.at][0] != "end":
            self.at += 1
            return True
        return False

    def block(self, *ends: str) -> list[Node]:
        body: list[Node] = []
        while self.next not in ends:
            if not self.accept(";"):
                body.append(self.statement())
        return body

    def statement(self) -> Node:
        if self.accept("if"):
            branches, otherwise = [], []
            while True:
                condition = self.expression()
                self.take("then")
                branches.append((condition, self.block("elsif", "else", "endif")))
                if not self.accept("elsif"):
                    break
            if self.accept("else"):
                otherwise = self.block("endif")
            self.take("endif")
            return ("if", branches, otherwise)
        if self.accept("for"):
            name = self.take()
            self.take("in")
            first = self.expression()
            self.take(":")
            last = self.expression()
            self.take("do")
            body = self.block("endfor")
            self.take("endfor")
            return ("for", name, first, last, body)
        if self.accept("declare"):
            name = self.take()
            self.take(":")
            kind, width = _type(self.take())
            count = None
            if self.accept("["):
                count = int(self.take())
                self.take("]")
            return ("declare", name, kind, width, count)
        if self.accept("return"):
            return ("return", self.expression())
        if self.accept("break"):
            return ("break",)
        target = self.unary()
        if self.next in ("=", "+=", "-="):
            operator = self.take()
            if self.accept("lambda"):
                return ("lambda", target[1], *self.function())
            value = self.expression()
            while self.accept("="):
                value = ("also", value, self.expression())
            return ("assign", target, ("binary", operator[0], target, value) if len(operator) == 2 else value)
        return ("call", target)

    def function(self) -> tuple[list[str], list[Node]]:
        self.take("(")
        names = []
        while not self.accept(")"):
            names.append(self.take())
            self.accept(",")
        self.take("(")
        if self.next in ("declare", "if"):
            body = self.block(")")
        else:
            body = [("return", self.expression())]
            self.accept(";")
        self.take(")")
        return names, body

    def expression(self) -> Node:
        condition = self.level(0)
        if self.accept("?"):
            first = self.expression()
            self.take(":")
            return ("choose", condition, first, self.expression())
        return condition

    def level(self, n: int) -> Node:
        if n == len(_LEVELS):
            return self.unary()
        left = self.level(n + 1)
        while self.next in _LEVELS[n]:
            left = ("binary", self.take(), left, self.level(n + 1))
        return left

    def unary(self) -> Node:
        if self.next in ("-", "+", "!", "~"):
            return ("unary", self.take(), self.unary())
        return self.postfix(self.primary())

    def postfix(self, node: Node) -> Node:
        while True:
            if self.accept("."):
                match = re.fullmatch(r"(bf|[uifb])(\d+)", self.take())
                if not match:
                    raise SyntaxError("field without a type")
                node = ("field", node, match[1].upper(), int(match[2]))
            elif self.accept("["):
                first = self.expression()
                if self.accept(":"):
                    node = ("slice", node, first, self.expression())
                elif self.accept("+:"):
                    node = ("part", node, first, self.expression())
                else:
                    node = ("index", node, first)
                self.take("]")
            else:
                return node

    def primary(self) -> Node:
        kind, token = self.tokens[self.at]
        self.at += 1
        if kind == "cast":
            cast, width = _type(token)
            self.take("(")
            value = self.expression()
            self.take(")")
            return ("cast", cast, width, value)
        if kind in ("number", "sized"):
            return ("value", _literal(token))
        if token == "(":
            node = self.expression()
            self.take(")")
            return node
        if token == "{":
            parts = [self.expression()]
            while self.accept(","):
                parts.append(self.expression())
            self.take("}")
            return ("join", parts)
        if kind != "name":
            raise SyntaxError(f"unexpected {token!r}")
        if self.accept("("):
            arguments = []
            while not self.accept(")"):
                arguments.append(self.expression())
                self.accept(",")
            return ("apply", token, arguments)
        return ("name", token)


def _type(token: str) -> tuple[str, int]:
    width, _, kind = token.partition("'")
    return kind, int(width)


def _literal(token: str) -> Value:
    if "'" in token:
        width, _, digits = token.partition("'")
        if "." in digits:
            return rounded(float(digits), "F", int(width))
        return integer(int(digits.rstrip("U"), 0), "U", int(width))
    if token.startswith("0x"):
        digits = token.rstrip("UL")
        return integer(int(digits, 16), "B", 64 if token.endswith("LL") else 32)
    if "." in token or token.endswith("F"):
        return rounded(float(token.rstrip("F")), "F", 32 if token.endswith("F") else 64)
    digits = token.rstrip("UL")
    return integer(int(digits), "U" if "U" in token else "I", 64 if token.endswith("LL") else 32)


@functools.cache
def parse(text: str) -> list[Node]:
    """The statements of the text of one instruction.

    Raises:
        SyntaxError: the text is not in the language (some entries are prose).
    """
    return _Parser(text).block("")


# --- execution -------------------------------------------------------------------------------------------------------


class _Return(Exception):
    pass


class _Break(Exception):
    pass


def run(program: list[Node], names: dict[str, Any], library: dict[str, str] | None = None, exact: bool = False) -> None:
    """Execute a program; ``names`` holds its variables (``S0``, ``D0``, ``VCC``, ``laneId``, ...) and is changed.

    ``library`` has the text of other instructions, which programs call by their lower-case names. With ``exact``
    integer arithmetic does not wrap, and a result that leaves its type is saturated: the CLAMP bit.
    """
    _Run(names, library or {}, exact).block(program)


def _convert(x: Value, kind: str, width: int) -> Value:
    """A cast: floats are rounded, bits of the same width are read anew."""
    to_float = kind in ("F", "BF")
    if x.is_float and to_float:
        if x.width == 0 or (x.kind, x.width) == (kind, width):
            return x
        return _nan_of(x, kind, width) if gmpy2.is_nan(x.number) else rounded(x.number, kind, width)
    if to_float:
        as_bits = x.kind == "B" and x.width <= 64  # 32'F(0xffc00000)
        return Value(kind, width, x.bits & (1 << width) - 1) if as_bits else rounded(x.number, kind, width)
    if x.is_float:
        raise TypeError(f"cast of a float to {width}'{kind}")
    return integer(x.number, kind, width)


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
            value = _convert(value, kind, width) if value.width else rounded(value.number, kind, width)
        ones = (1 << width) - 1
        old = self.names.setdefault(base, Value("B", 128, 0))
        bits = old.bits & ~(ones << low) | (value.bits & ones) << low
        self.names[base] = Value(old.kind, old.width, bits & (1 << old.width) - 1)

    def row(self, node: Node) -> list[Any] | None:
        """The list that a node names, if it is one."""
        if node[0] == "name":
            found = self.names.get(node[1])
            return found if isinstance(found, list) else None
        if node[0] == "index" and (outer := self.row(node[1])) is not None:
            found = outer[self.value(node[2]).number]
            return found if isinstance(found, list) else None
        return None

    def place(self, node: Node) -> tuple[str, int, str, int]:
        """Variable, lowest bit, kind and width of what a node names."""
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
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        raise NameError(f"pseudo-code name {name}")

    def get_field(self, inner: Node, kind: str, width: int) -> Value:
        if inner[:2] == ("index", ("name", "MEM")):
            return Value(kind, width, self.names["MEM"].read(self.value(inner[2]).number, width))
        x = self.value(inner)
        if x.is_float and kind in ("F", "BF"):
            return _convert(x, kind, width)  # INF.f32
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
        return _convert(self.value(inner), kind, width)

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
            return _is_subnormal(self.value(left))
        a, b = self.value(left), self.value(right)
        if operator in _COMPARES:
            if a.is_float != b.is_float:
                raise TypeError(f"{a} {operator} {b}")
            return integer(_COMPARES[operator](a.number, b.number), "U", 1)
        if operator == "**":
            with gmpy2.context(EXACT):
                return Value("F", 0, _power_of_two(b.number) if a.number == 2 else a.number**b.number)
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
            truncate = self.names.get("ROUND_MODE") == _CONSTANTS["ROUND_TOWARD_ZERO"]
            return convert(values[0], match[3].upper(), int(match[4] or 16), truncate)
        if name in self.library:
            names = {"D0": Value("B", 64, 0), **{f"S{i}": v for i, v in enumerate(values)}}
            names.update({k: v for k, v in self.names.items() if k in ("IEEE", "laneId")})
            run(parse(self.library[name]), names, self.library)
            width = 32 if name.startswith(("v_sad_", "v_msad_")) else values[0].width
            return Value(values[0].kind, width, names["D0"].bits & (1 << width) - 1)
        raise NameError(f"pseudo-code function {name}")


def convert(x: Value, kind: str, width: int, truncate: bool = False) -> Value:
    """``X_to_Y``: floats are rounded (or truncated); integers are saturated, and NaN becomes 0 (conversions to integer truncate)."""
    if kind in ("F", "BF"):
        return rounded(x.number, kind, width, truncate) if x.is_float or kind == "F" else x
    if kind in ("SNORM", "UNORM"):
        low, high = (-32767, 32767) if kind == "SNORM" else (0, 65535)
        with gmpy2.context(EXACT):
            n = x.number
            scaled = 0 if gmpy2.is_nan(n) else int(gmpy2.rint(max(min(n, 1), low // high) * high))
        return integer(scaled, "I" if kind == "SNORM" else "U", 16)
    n = x.number
    top = (1 << width - (kind == "I")) - 1
    bottom = -1 - top if kind == "I" else 0
    if x.is_float:
        n = 0 if gmpy2.is_nan(n) else (top if n > 0 else bottom) if gmpy2.is_infinite(n) else int(gmpy2.rint_trunc(n))
    return integer(max(min(n, top), bottom), kind, width)


def exponent_bits(x: Value) -> int:
    fraction, bias = FORMATS[x.kind, x.width]
    return x.bits >> fraction & 2 * bias + 1


def _is_subnormal(x: Value) -> Value:
    return integer(exponent_bits(x) == 0 and x.number != 0, "U", 1)


def _is_nan(x: Value, quiet: bool | None = None) -> Value:
    fraction, _ = FORMATS[x.kind, x.width]
    nan = bool(gmpy2.is_nan(x.number))
    return integer(nan and quiet in (None, bool(x.bits >> (fraction - 1) & 1)), "U", 1)


def _widened_nan(x: Value) -> Value:
    return Value(x.kind, x.width, x.bits | 1 << FORMATS[x.kind, x.width][0] - 1)


def _in(context: Any, function: Callable[..., Any], *numbers: Any) -> Any:
    with gmpy2.context(context):
        return function(*numbers)


def _floor(x: Value) -> Value:
    return compute(gmpy2.rint_floor, x)


def _mantissa(x: Value) -> Value:
    if x.number == 0:
        return x
    with gmpy2.context(EXACT):
        _, m = gmpy2.frexp(x.number)
    return rounded(m, x.kind, x.width)


def _normalised(x: Value) -> Value:
    """The biased exponent a number would have if it were normal; of zero the one that makes frexp give 0."""
    _, bias = FORMATS[x.kind, x.width]
    return integer(bias - 1 if x.number == 0 else gmpy2.frexp(x.number)[0] + bias - 1)


def _signext_from_bit(x: Value, size: Value) -> Value:
    n = size.number
    if n == 0 or n >= x.width:
        return integer(0 if n == 0 else x.number, x.kind, x.width)
    field = x.bits & (1 << n) - 1
    return integer(field - (1 << n) if field >> (n - 1) else field, "I", x.width)


def _power_of_two(n: int) -> Any:
    return gmpy2.exp2(max(min(n, 20000), -20000))  # farther than any float, but not zero


def _ldexp(x: Value, n: Value) -> Value:
    with gmpy2.context(EXACT):
        return rounded(gmpy2.mul(x.number, _power_of_two(n.number)), x.kind, x.width)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "fma": lambda a, b, c: compute(gmpy2.fma, a, b, c),
    "fma_unrounded": lambda a, b, c: Value("F", 0, _in(_WIDE, gmpy2.fma, a.number, b.number, c.number)),
    "floor": _floor,
    "trunc": lambda x: compute(gmpy2.rint_trunc, x),
    "fract": lambda x: compute(lambda n: n - gmpy2.rint_floor(n), x),
    "sqrt": lambda x: compute(gmpy2.sqrt, x),
    "log2": lambda x: compute(gmpy2.log2, x),
    "pow": lambda x, y: compute(lambda a, b: gmpy2.exp2(b), x, y),
    "abs": lambda x: Value(x.kind, x.width, x.bits & ~(1 << x.width - 1)),
    "sign": lambda x: x.cut(x.width - 1, 1),
    "exponent": lambda x: integer(exponent_bits(x)),
    "exponent_of_normalised": _normalised,
    "mantissa": _mantissa,
    "ldexp": _ldexp,
    "isNAN": _is_nan,
    "isQuietNAN": lambda x: _is_nan(x, True),
    "isSignalNAN": lambda x: _is_nan(x, False),
    "isEven": lambda x: integer(x.number % 2 == 0, "U", 1),
    "cvtToQuietNAN": _widened_nan,
    "signext": lambda x: x,
    "signext_from_bit": _signext_from_bit,
    "CalcDsAddr": lambda address, *offsets: address,
    "CalcGlobalAddr": lambda address, *offsets: address,
    "s_ff1_i32_b32": lambda x: integer((x.bits & -x.bits).bit_length() - 1),
    "s_ff1_i32_b64": lambda x: integer((x.bits & -x.bits).bit_length() - 1),
}
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
_CONSTANTS = {
    "INF": rounded(float("inf"), "F", 64),
    "NAN": rounded(float("nan"), "F", 64),
    "PI": rounded(gmpy2.const_pi(300), "F", 64),
    "ROUND_MODE": integer(0),
    "ROUND_NEAREST_EVEN": integer(0),
    "ROUND_TOWARD_ZERO": integer(3),
    "MAX_FLOAT_F32": Value("F", 32, 0x7F7FFFFF),
    "OVERFLOW_F32": Value("F", 32, 0x7F800000),
    "OVERFLOW_F64": Value("F", 64, 0x7FF0000000000000),
    "UNDERFLOW_F32": Value("F", 32, 0),
    "UNDERFLOW_F64": Value("F", 64, 0),
}
