"""What the host code of a source says of its kernels: how it launches them, and which constants it fills.

This is read from the text, as far as that is plain: numbers, names of constants, ``dim3``, and the arguments of the
launch, which say what a kernel calls a number of the host's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import tree_sitter
import tree_sitter_cuda

from parity.codeobject import unqualified
from parity.errors import UsageError
from parity.expression import Scope, expression

__all__ = ["HostLaunch", "constants_of", "host_launches"]

_SIZES: Mapping[str, int] = {"char": 1, "__half": 2, "half": 2, "short": 2, "int": 4, "float": 4, "double": 8}
_SIZEOF = re.compile(rf"sizeof\s*\(\s*(?:unsigned\s+)?({'|'.join(_SIZES)})\s*\)")
_NUMBER = re.compile(r"(\b\d+)[uUlL]+\b")
_QUOTIENT = re.compile(r"/")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True)
class HostLaunch:
    """A launch ``<<<grid, block, shared>>>`` at a line of a source, with its text.

    ``grid`` and ``block`` are expressions for each axis, ``shared`` is one for bytes, or empty; their names are those
    of the kernel's arguments where the host passes that name, and otherwise the host's own.
    """

    line: int
    text: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str = ""


def host_launches(text: str, arguments: Mapping[str, tuple[str, ...]]) -> dict[str, HostLaunch]:
    """The first launch of each kernel in a source, by its name without namespaces and template arguments.

    ``arguments`` are the names of the arguments of the kernels.
    """
    root = _parsed(text)
    numbers, found = _numbers(root), dict[str, HostLaunch]()
    for node in _all(root, "call_expression"):
        syntax = next((each for each in node.children if each.type == "kernel_call_syntax"), None)
        if syntax is None or node.children[0] is syntax:
            continue
        kernel = unqualified(_text(node.children[0]))
        taken = arguments.get(kernel, ())
        given = next((each.named_children for each in node.children if each.type == "argument_list"), [])
        names = {_text(each): name for each, name in zip(given, taken, strict=False) if each.type == "identifier"}
        axes = [_axes(each, root) for each in syntax.named_children]
        if kernel in found or len(taken) != len(given) or len(axes) < 2:
            continue
        grid, block, *shared = [tuple(_expression(each, numbers, names) for each in axis) for axis in axes]
        shown = " ".join(_text(node).split())
        found[kernel] = HostLaunch(node.start_point.row + 1, shown, grid, block, *(each[0] for each in shared[:1]))
    return found


def constants_of(text: str, kernels: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The ``__constant__`` variables that kernels name, by the name of the kernel."""
    root = _parsed(text)
    known = {
        name
        for node in _all(root, "declaration")
        if "__constant__" in _text(node).partition("=")[0].split()
        for child in node.named_children
        if (name := _declared(child))
    }
    found: dict[str, tuple[str, ...]] = {}
    for node in _all(root, "function_definition"):
        kernel = next((_text(each) for each in _all(node, "identifier") if _text(each) in kernels), "")
        if kernel and (used := sorted(known & {_text(each) for each in _all(node, "identifier")})):
            found.setdefault(kernel, tuple(used))
    return found


def _parsed(text: str) -> tree_sitter.Node:
    language = tree_sitter.Language(tree_sitter_cuda.language())
    return tree_sitter.Parser(language).parse(text.encode()).root_node


def _all(node: tree_sitter.Node, kind: str) -> Iterator[tree_sitter.Node]:
    """The nodes of that type, in their order."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type == kind:
            yield each
        waiting += reversed(each.children)


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _declared(node: tree_sitter.Node) -> str:
    """The variable that a declarator declares; empty if it declares none."""
    if node.type in ("array_declarator", "init_declarator"):
        return _declared(node.named_children[0])
    return _text(node) if node.type == "identifier" else ""


def _numbers(root: tree_sitter.Node) -> dict[str, str]:
    """The names of constants with what they stand for: macros, and constants that are initialized with a number."""
    found = {}
    for node in _all(root, "preproc_def"):
        words = [_text(each).strip() for each in node.named_children]
        if re.fullmatch(r"\(?\d+\)?", words[-1]):
            found[words[0]] = words[-1].strip("()")
    for node in _all(root, "init_declarator"):
        name, value = _text(node.named_children[0]), _text(node.named_children[-1])
        constant = node.parent is not None and re.match(r"(static\s+)?(const|constexpr)\b", _text(node.parent))
        if constant and value.isdigit():
            found[name] = value
    return found


def _axes(node: tree_sitter.Node, root: tree_sitter.Node) -> list[str]:
    """The axes of a grid or block: the arguments of a ``dim3``, or of the variable that is one, or a single number."""
    if node.type == "identifier":
        name = _text(node)
        for each in _all(root, "init_declarator"):
            kind = _text(each.parent).split() if each.parent is not None else []
            if each.start_byte < node.start_byte and _text(each.named_children[0]) == name and "dim3" in kind[:2]:
                node = each
    call = next((each for each in _all(node, "argument_list")), None)
    is_dim3 = node.type == "init_declarator" or _text(node).startswith("dim3")
    return [_text(each) for each in call.named_children] if call is not None and is_dim3 else [_text(node)]


def _expression(text: str, numbers: Mapping[str, str], names: Mapping[str, str]) -> str:
    """An expression of C as one of a declaration, with constants as numbers; a product of numbers is one number."""
    text = _SIZEOF.sub(lambda match: str(_SIZES[match[1]]), _NUMBER.sub(r"\1", text))
    text = _NAME.sub(lambda match: numbers.get(match[0]) or names.get(match[0], match[0]), text)
    text = _QUOTIENT.sub("//", " ".join(text.split()))
    try:
        return str(expression(text)(Scope({}, {})))
    except UsageError:  # it has names, or is more than an expression
        return text
