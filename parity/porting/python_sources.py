"""Extracts the CUDA code that a Python file passes as a string to CuPy, PyCUDA or PyTorch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from parity.platform.files import CUDA_SUFFIXES, find_below, read_content

_CALLS = {"RawKernel": "code", "RawModule": "code", "SourceModule": "source", "load_inline": "cuda_sources"}
"""Functions that compile CUDA code, and the names of the parameter with the code.

``RawKernel`` and ``RawModule`` are CuPy's, ``SourceModule`` is PyCUDA's, and ``load_inline`` is PyTorch's.
"""
_FIRST = frozenset(("RawKernel", "RawModule", "SourceModule"))
"""Functions whose first argument is the code."""
_CALLED = re.compile(rf"\b({'|'.join(_CALLS)})\s*\(")


def embeds_cuda(text: str) -> bool:
    """Return True if a Python source calls a function that compiles CUDA code."""
    return bool(_CALLED.search(text))


def is_cuda_source(path: Path) -> bool:
    """Return True for a CUDA source, and for a Python file that embeds CUDA code."""
    if path.suffix == ".py":
        return path.is_file() and embeds_cuda(read_content(path).decode(errors="replace"))
    return path.name.endswith(CUDA_SUFFIXES) and path.is_file()


def has_source(folder: Path) -> bool:
    """Return True if there is a CUDA or HIP source below a folder."""
    return any(
        each.suffix == ".hip" or is_cuda_source(each) for each in find_below(folder, *CUDA_SUFFIXES, ".hip", ".py")
    )


def cuda_code(text: str) -> str:
    """Return the CUDA code in a Python source, in the lines where it stands in that source.

    The code is a string literal, a list of them, or a variable with such a value. If none is, because a function of the
    file gets the code as an argument, the code is every string literal that defines a kernel. A string that spans other
    lines than its value has (because of escape sequences or joined literals) starts in its line, and later lines shift.
    If the file is not Python, or none of the code is a literal, the result is an ``#error`` line: only this module
    fails.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return _error(error.lineno or 1, f"not a Python source: {error.msg}")
    calls = sorted(_calls(tree), key=lambda call: (call.lineno, call.col_offset))
    found = dict.fromkeys(literal for call in calls for literal in _literals(_argument(call), tree, call.lineno))
    found = found or dict.fromkeys(_kernel_literals(tree))
    if not found:
        return _error(calls[0].lineno if calls else 1, "the CUDA code is computed; parity reads only string literals")
    lines: list[str] = []
    for literal in sorted(found, key=lambda each: each.lineno):
        lines += [""] * (literal.lineno - 1 - len(lines))
        lines += str(literal.value).split("\n")
    return "\n".join(lines) + "\n"


def _error(line: int, message: str) -> str:
    return "\n" * (line - 1) + f"#error {message}\n"


def _kernel_literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the string literals that define kernels, without parts of f-strings."""
    nodes = [*ast.walk(tree)]
    parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if "__global__" in text and node not in parts:
                yield node


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node) in _CALLS)


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _argument(call: ast.Call) -> ast.expr | None:
    name = _name(call)
    if call.args and name in _FIRST:
        return call.args[0]
    return next((each.value for each in call.keywords if each.arg == _CALLS[name]), None)


def _literals(value: ast.expr | None, tree: ast.AST, line: int) -> Iterator[ast.Constant]:
    """Yield the string literals of an expression. A variable has the value that is assigned last before ``line``."""
    match value:
        case ast.Constant(value=str()):
            yield value
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            for each in elements:
                yield from _literals(each, tree, line)
        case ast.Name(id=name):
            values = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and _assigns(node, name)]
            before = [node for node in values if node.lineno < line]
            if before:
                last = max(before, key=lambda node: node.lineno)
                yield from _literals(last.value, tree, last.lineno)


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
