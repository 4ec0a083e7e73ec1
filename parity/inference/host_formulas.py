"""Converts the arithmetic of host code to expressions of the declaration language: grids, and numbers that are passed
to kernels.

``(n + 255) / 256`` becomes ``ceil(n/256)``. Variables, macros and functions with a single ``return`` are expanded until
only names remain that are passed to the kernel, or that nothing defines.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from parity.model.launch import WARP_SIZE

CAST = re.compile(
    r"\(\s*(?:(?:const|unsigned|signed)\s+)*(?:unsigned|int|u?int\d+_t|size_t|long|long\s+long|float|double|uint)\s*\)"
    r"|(?:static_cast|reinterpret_cast)\s*<[^<>]*>|\bstd\s*::"
)
_SUFFIX = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+\.?\d*)[uUlLfF]+\b|\b(\d+\.)f\b")
_BLOCKS_FOR = re.compile(r"(?i)\w*(?:grid|blocks)\w*")
"""Matches functions that return a block for each part of a number of threads, whose bodies are not a formula."""
_OF_TYPE = re.compile(r"<[\w:\s]+>(?=\s*\()")
WARP_NAMES = ("warpSize", "C10_WARP_SIZE", "warp_size")
"""Names of the width of a warp in host code, unless the code defines them."""
_IS_REST = r"\((?P<rest>[^?()%]+%(?:[^?()]|\([^?()]*\))+?)"
_RESTS = (
    (re.compile(rf"{_IS_REST}==\s*0\s*\)?\s*\?\s*0\s*:\s*1\s*\)"), r"(\g<rest>!= 0)"),
    (re.compile(rf"{_IS_REST}(?:(?:!=|>)\s*0)?\s*\)?\s*\?\s*1\s*:\s*0\s*\)"), r"(\g<rest>!= 0)"),
)
"""Match ``(n % 256 ? 1 : 0)`` and similar forms, with what they mean."""
_ROUNDED_UP = re.compile(r"(?i)\w*(?:ceil_?div|div_?ceil|cdiv|div_?up|up_?div|div_?round_?up|round_?up_?div)\w*")
OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_OPAQUE = ast.Attribute | ast.Call | ast.Subscript
_ATOMS = ast.Name | _OPAQUE
"""Expressions that count as a name, because nothing is known about them."""
_DEEP = 12
"""The largest number of nested expansions."""


@dataclass(frozen=True)
class HostValues:
    """The definitions in host code.

    ``defined`` returns the value of a name, ``sizes`` the parts of a ``dim3``. ``functions`` maps macros and functions
    to their parameters and body. ``fixed`` are names that no code can change.
    """

    defined: Callable[[str], str | None]
    sizes: Callable[[str], Sequence[str] | None]
    functions: Mapping[str, tuple[tuple[str, ...], str]]
    fixed: Collection[str]


class Formulas:
    """The formulas of one launch: its ``arguments``, the blocks and threads along each axis, and its shared bytes.

    An argument that is not computed from others is a name. A formula is empty if the code does not determine it.
    """

    def __init__(
        self, host: HostValues, grid: Sequence[str], arguments: Sequence[str], block: Sequence[str], shared: str
    ) -> None:
        self._host, self._block = host, parsed_arithmetic("*".join(f"({text})" for text in block))
        nodes = [parsed_arithmetic(text) for text in arguments]
        given = [self._given(node) for node in nodes]
        passed = {_named(node).id for node in nodes if isinstance(node, _ATOMS)}
        free = {name for node in given if node is not None for name in free_names(node)} - passed
        self.grid = tuple(self._text(parsed_arithmetic(part), passed | free) for part in grid)
        known = passed | {name for part in self.grid if part for name in free_names(ast.parse(part, mode="eval"))}
        # The kernel may compute what else is in a formula, such as the number of images, from the other arguments.
        known |= {
            name for node in given
            if node is not None and free_names(node) & passed and not _divides_other(node, known)
            for name in free_names(node)
        }  # fmt: skip
        found, made = list[str](), dict[str, ast.expr]()
        for node, of in zip(nodes, given, strict=True):
            own = _named(node).id if isinstance(node, _ATOMS) else ""
            text = self._text(of, passed | free) if of is not None else ""
            names = free_names(ast.parse(text, mode="eval")) if text else frozenset[str]()
            if names and names <= known - made.keys() - {own}:
                made[own] = ast.parse(text, mode="eval").body
                found.append(text)
            else:
                found.append(own)
        self.arguments = tuple(found)
        self.grid = tuple(with_formulas(text, made) if text else "" for text in self.grid)
        others = (self._text(parsed_arithmetic(part), passed | free) for part in (*block, shared))
        *threads, self.shared = (with_formulas(text, made) if text else "" for text in others)
        self.threads = tuple(threads)

    def _given(self, node: ast.expr | None) -> ast.expr | None:
        """Return the formula of an argument or of the variable it names, or None without one."""
        if isinstance(node, ast.Name):
            text = self._host.defined(node.id)
            node = parsed_arithmetic(text) if text is not None else None
        if not isinstance(node, ast.BinOp):
            return None
        kept = {name for name in free_names(node) if name not in self._host.fixed}
        try:
            return self._expanded(node, kept, _DEEP)
        except ValueError:
            return None

    def _text(self, node: ast.expr | None, kept: Collection[str]) -> str:
        try:
            return compact(rewritten(self._expanded(node, kept, _DEEP), _as_difference)) if node else ""
        except ValueError:
            return ""

    def _expanded(
        self, node: ast.expr, kept: Collection[str], deep: int, values: Mapping[str, ast.expr] | None = None
    ) -> ast.expr:
        """Replace all names that are not ``kept`` by their definitions. ``values`` are the values of parameters.

        Raises:
            ValueError: the expression is not arithmetic.
        """
        if not deep:
            raise ValueError

        def inside(one: ast.expr) -> ast.expr:
            return self._expanded(one, kept, deep - 1, values)

        match node:
            case ast.Constant(value=int() | float() as value) if value == int(value):
                return ast.Constant(int(value))
            case ast.Name(id=name):
                if values and name in values:
                    return values[name]
                text = None if name in kept else self._host.defined(name)
                if text is None and name in WARP_NAMES:
                    return ast.Name(WARP_SIZE)
                given = parsed_arithmetic(text) if text is not None else None
                if given is None or (isinstance(given, _OPAQUE) and not self._is_known(given)):
                    return node
                return self._expanded(given, kept, deep - 1)
            case ast.BinOp(
                left,
                ast.Add(),
                ast.Compare(ast.BinOp(over, ast.Mod(), under), [ast.NotEq() | ast.Gt()], [ast.Constant(value=0)]),
            ):
                over, under = inside(over), inside(under)
                if ast.unparse(inside(left)) != ast.unparse(_folded(over, ast.Div(), under)):
                    raise ValueError
                return _up(over, under)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return _folded(inside(left), op, inside(right))
            case ast.Attribute(value=ast.Name(id=name), attr="x" | "y" | "z" as axis) if parts := self._host.sizes(
                name
            ):
                part = parsed_arithmetic(dict(zip("xyz", parts, strict=False)).get(axis, "1"))
                if part is None:
                    raise ValueError
                return self._expanded(part, kept, deep - 1)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=[]):
                return self._called(node, name, [inside(one) for one in args], deep - 1)
            case ast.Attribute() | ast.Subscript():
                return _named(node)
        raise ValueError

    def _is_known(self, node: ast.expr) -> bool:
        """Return True for a call, or a member, that stands for arithmetic."""
        try:
            return not isinstance(self._expanded(node, (), 3), ast.Name)
        except ValueError:
            return False

    def _called(self, node: ast.expr, name: str, args: Sequence[ast.expr], deep: int) -> ast.expr:
        if name in WARP_NAMES and not args:
            return ast.Name(WARP_SIZE)
        if name in ("ceil", "ceilf") and len(args) == 1:
            parts = _parts(args[0], ast.FloorDiv)
            return _up(*parts) if parts else args[0]
        if name in ("min", "max") and len(args) == 2:
            return ast.Call(ast.Name(name), list(args), [])
        if name in self._host.functions:
            parameters, body = self._host.functions[name]
            if (parsed := parsed_arithmetic(body)) is not None and len(parameters) == len(args):
                try:
                    return self._expanded(parsed, (), deep, dict(zip(parameters, args, strict=True)))
                except ValueError:
                    pass
        if (_ROUNDED_UP.fullmatch(name) or _BLOCKS_FOR.fullmatch(name)) and len(args) == 2:
            return _up(*args)
        if _BLOCKS_FOR.fullmatch(name) and len(args) == 1 and self._block is not None:
            return _up(args[0], self._expanded(self._block, (), deep))
        return _named(node)


def with_formulas(text: str, formulas: Mapping[str, ast.expr]) -> str:
    """Replace names in an expression by formulas."""
    tree = ast.parse(text, mode="eval")
    return compact(rewritten(tree, lambda node: formulas.get(node.id, node) if isinstance(node, ast.Name) else node))


def rewritten(node: ast.AST, change: Callable[[ast.AST], ast.AST]) -> ast.AST:
    """Return an expression after ``change`` of all its parts, inner parts first."""

    class Rewriter(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return change(self.generic_visit(node))

    changed: ast.AST = Rewriter().visit(node)
    return changed


def compact(node: ast.AST) -> str:
    """Return the text of an expression without blanks."""
    return ast.unparse(node).replace(" ", "")


def free_names(node: ast.AST) -> frozenset[str]:
    """Return the names in a formula, except the names of functions and the width of a warp."""
    called = {id(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)}
    return frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name) and id(each) not in called) - {
        WARP_SIZE
    }


def parsed_arithmetic(text: str) -> ast.expr | None:
    """Parse C arithmetic as Python. Return None for anything else."""
    bare = _SUFFIX.sub(r"\1\2", _OF_TYPE.sub("", CAST.sub("", text))).replace("->", ".").replace("::", ".")
    for pattern, meaning in _RESTS if "?" in bare else ():
        bare = pattern.sub(meaning, bare)
    try:
        return ast.parse(" ".join(bare.split()), mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _named(node: ast.expr) -> ast.Name:
    """Return a name for an expression that is not arithmetic."""
    return ast.Name(re.sub(r"\W+", "_", ast.unparse(node)).strip("_"))


def _divides_other(node: ast.expr, known: Collection[str]) -> bool:
    """Return True for a quotient of an unknown name, which may have any value."""
    parts = _parts(node, ast.FloorDiv)
    return parts is not None and isinstance(parts[0], ast.Name) and parts[0].id not in known


def _whole(node: ast.expr) -> int | None:
    """Return the value of an integer constant, or None."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _parts(node: ast.expr, kind: type[ast.operator]) -> tuple[ast.expr, ast.expr] | None:
    """Return the operands of an operation of a kind, or None."""
    return (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, kind) else None


def _more(node: ast.expr) -> tuple[ast.expr, int]:
    """Split a sum into its first part and its constant."""
    parts = _parts(node, ast.Add)
    more = _whole(parts[1]) if parts else None
    return (parts[0], more) if parts and more is not None else (node, 0)


def _up(a: ast.expr, b: ast.expr) -> ast.expr:
    """Return a quotient that is rounded up."""
    over, under = _whole(a), _whole(b)
    if over is not None and under:
        return ast.Constant(-(-over // under))
    return a if under == 1 else ast.Call(ast.Name("ceil"), [ast.BinOp(a, ast.Div(), b)], [])


def _folded(a: ast.expr, op: ast.operator, b: ast.expr) -> ast.expr:
    """Compute constants and move them to the end. Differences become sums, and quotients are rounded down."""
    over, under = _whole(a), _whole(b)
    if over is not None and under is not None:
        if isinstance(op, ast.Div | ast.FloorDiv | ast.Mod) and not under:
            raise ValueError
        return ast.Constant(OPERATORS[type(op)](over, under))
    match op:
        case ast.RShift() if under is not None:
            return _folded(a, ast.Div(), ast.Constant(1 << under))
        case ast.LShift() if under is not None:
            return _folded(a, ast.Mult(), ast.Constant(1 << under))
        case ast.Sub() if under is not None:
            return _sum(a, ast.Constant(-under))
        case ast.Add():
            return _sum(b, a) if over is not None else _sum(a, b)
        case ast.Mult():
            a, b, under = (b, a, over) if over is not None else (a, b, under)
            return a if under == 1 else ast.BinOp(a, op, b)
        case ast.Div() | ast.FloorDiv():
            return _quotient(a, b)
    return ast.BinOp(a, op, b)


def _sum(a: ast.expr, b: ast.expr) -> ast.expr:
    most, more = _more(a)
    under = _whole(b)
    if under is None:
        return _sum(ast.BinOp(most, ast.Add(), b), ast.Constant(more)) if more else ast.BinOp(a, ast.Add(), b)
    if (parts := _parts(a, ast.FloorDiv)) and under == 1 and _more(parts[0])[1] == -1:
        return _up(_more(parts[0])[0], parts[1])  # (x - 1) / c + 1
    return ast.BinOp(most, ast.Add(), ast.Constant(more + under)) if more + under else most


def _quotient(a: ast.expr, b: ast.expr) -> ast.expr:
    most, more = _more(a)
    if (under := _whole(b)) is not None:
        if under == 1:
            return a
        if more == under - 1:
            return _up(most, b)
    elif more == -1 and (parts := _parts(most, ast.Add)) and ast.unparse(parts[1]) == ast.unparse(b):
        return _up(parts[0], b)  # (x + y - 1) / y
    return ast.BinOp(a, ast.FloorDiv(), b)


def _as_difference(node: ast.AST) -> ast.AST:
    """Write a sum with a negative constant as a difference."""
    most, more = _more(node) if isinstance(node, ast.BinOp) else (node, 0)
    return ast.BinOp(most, ast.Sub(), ast.Constant(-more)) if isinstance(most, ast.expr) and more < 0 else node
