"""Finds which parameters of a Triton function are pointers, and which tensors hold positions or sizes."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_ADDRESSED = frozenset(("load", "store", "make_block_ptr", "make_tensor_descriptor", "advance", "multiple_of"))
"""Functions of Triton whose first argument is an address."""
_WHOLE_ATOMICS = ("atomic_cas", "atomic_xchg", "atomic_and", "atomic_or", "atomic_xor")
_WHOLE_CALLS = ("to", "cast", "load", "minimum", "maximum", "cdiv")
_POINTER = re.compile(r"(?i)(?:.*_)?(?:ptrs?|pointer)(?:_.*)?|ptr\w*|\w*ptr")
_NUMBER = re.compile(r"(?i)\w*stride\w*|pid\w*|n_\w+|num_\w+|\w*offset\w*")
_PASSES = 4
"""Passes over a function, to follow values from loads to addresses."""

Helpers = Mapping[str, ast.FunctionDef]
"""The Triton functions that a function may call, by name."""


def find_roles(node: ast.FunctionDef, names: Sequence[str], helpers: Helpers) -> tuple[set[str], set[str]]:
    """Return the parameters that are pointers, and the pointers to elements that are positions or sizes.

    ``names`` are the parameters of the function.
    """
    finder = _RoleFinder(names, {name: each for name, each in helpers.items() if each is not node})
    for _ in range(_PASSES):
        for each in ast.walk(node):
            finder.visit(each)
    return finder.pointers, (finder.indices | finder.whole) & finder.pointers


@dataclass
class _RoleFinder:
    """What is known of the names in a function.

    Attributes:
        pointers: the parameters that are pointers.
        indices: the parameters whose elements become part of an address.
        whole: the parameters whose elements are whole numbers.
        roots: by name, the parameters that an address begins with.
        loaded: by name, the pointers whose elements are part of the value.
        addresses: the names of sums of a pointer and something else.
        known: the roles of the parameters of helpers.
    """

    names: Sequence[str]
    helpers: Helpers
    pointers: set[str] = field(default_factory=set)
    indices: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    roots: dict[str, set[str]] = field(default_factory=dict)
    loaded: dict[str, set[str]] = field(default_factory=dict)
    addresses: set[str] = field(default_factory=set)
    known: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.roots |= {name: {name} for name in self.names}
        self.pointers |= {name for name in self.names if _POINTER.fullmatch(name)}

    def visit(self, node: ast.AST) -> None:
        """Learn from one statement or expression."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, value)
            case ast.Call() if called(node) in _ADDRESSED or called(node).startswith("atomic"):
                self._access(node)
            case ast.Call(func=ast.Name(id=name)) if name in self.helpers:
                self._call_helper(name, node)
            case ast.BinOp(op=ast.BitAnd() | ast.RShift() | ast.LShift() | ast.FloorDiv()):
                self.whole |= self._sources(node.left)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add() | ast.Sub(), value=value):
                if name in self.pointers:
                    self.indices |= self._sources(value)
                elif _is_whole(value):
                    self._load(name, self._sources(value))
            case ast.Call(func=ast.Name(id="range")) | ast.Call(func=ast.Attribute(attr="range" | "cdiv")):
                self.whole |= set().union(*map(self._sources, node.args))

    def _assign(self, name: str, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and called(value) == "load" and value.args:
            self._load(name, self._root(value.args[0]) & self.pointers)
        elif isinstance(value, ast.BinOp) and (found := self._root(value)):
            if self._is_address(value):
                self.addresses.add(name)
                self.indices |= self._sources(value)
            self._begin(name, found)
        elif isinstance(value, ast.Call) and (inner := _inner_load(value)):
            self._load(name, self._root(inner) & self.pointers)
        elif isinstance(value, ast.Name | ast.Call | ast.BinOp):
            self._load(name, self._sources(value) if _is_whole(value) else set())
            self._begin(name, self._root(value))

    def _load(self, name: str, pointers: set[str]) -> None:
        self.loaded.setdefault(name, set()).update(pointers)

    def _begin(self, name: str, roots: set[str]) -> None:
        self.roots.setdefault(name, set()).update(roots if name not in self.names else ())

    def _access(self, call: ast.Call) -> None:
        """Learn from a call whose first argument is an address."""
        address = call.args[0] if call.args else _keyword(call, "base", "pointer")
        if address is not None:
            self.pointers |= _first(self._root(address), self.names)
            self.indices |= self._sources(address)
            self.whole |= self._root(address) & self.pointers if called(call) in _WHOLE_ATOMICS else set()

    def _call_helper(self, name: str, call: ast.Call) -> None:
        """Give arguments of a helper the roles of its parameters."""
        helper = self.helpers[name]
        taken = [each.arg for each in parameters_of(helper)]
        if name not in self.known:
            others = {key: each for key, each in self.helpers.items() if key != name}
            self.known[name] = find_roles(helper, taken, others)
        pointers, indices = self.known[name]
        places = whole_numbers(helper) - pointers
        for key, value in passed(call, taken).items():
            owner = self._root(value) & set(self.names)
            if len(owner) == 1:
                self.pointers |= owner if key in pointers else set()
                self.indices |= owner if key in indices else set()
            self.indices |= self._sources(value) if key in places else set()

    def _root(self, value: ast.expr) -> set[str]:
        """Return the parameters that an address begins with."""
        match value:
            case ast.Name():
                return self.roots.get(value.id, set())
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                left, right = self._root(value.left), self._root(value.right)
                return ((left | right) & self.pointers) or left or right
            case ast.Call(func=ast.Attribute(value=inner)) if not isinstance(inner, ast.Name) or inner.id != "tl":
                return self._root(inner)
            case ast.Call(func=ast.Name(id=name)) if name in self.helpers:
                return set()
            case ast.Call(args=[first, *_]):
                return self._root(first)
            case ast.Subscript():
                return self._root(value.value)
        return set()

    def _is_address(self, value: ast.expr) -> bool:
        """Return True for the sum of a pointer and something else."""
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            return self._is_address(value.left) or self._is_address(value.right)
        return isinstance(value, ast.Name) and value.id in self.pointers | self.addresses

    def _sources(self, value: ast.AST) -> set[str]:
        """Return the pointers whose elements are part of a value."""
        found: set[str] = set()
        for each in ast.walk(value):
            if isinstance(each, ast.Name):
                found |= self.loaded.get(each.id, set())
            elif isinstance(each, ast.Call) and called(each) == "load" and each.args:
                found |= self._root(each.args[0]) & self.pointers
        return found


def whole_numbers(node: ast.FunctionDef) -> set[str]:
    """Return the names in addresses, and in divisions of whole numbers."""
    parts: list[ast.AST] = []
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv | ast.Mod):
            parts.append(each)
        elif isinstance(each, ast.Call) and (called(each) in _ADDRESSED or called(each) in ("cdiv", "range")):
            parts += each.args[: 1 if called(each) in _ADDRESSED else None]
        elif isinstance(each, ast.arg | ast.Name) and "stride" in getattr(each, "id", getattr(each, "arg", "")).lower():
            parts.append(ast.Name(getattr(each, "id", getattr(each, "arg", ""))))
    return {name.id for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)}


def parameters_of(node: ast.FunctionDef) -> list[ast.arg]:
    """Return the parameters of a function, in order."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def passed(call: ast.Call, names: Sequence[str]) -> dict[str, ast.expr]:
    """Return what a call passes, by the name of the parameter; ``names`` are the positional ones."""
    positional = itertools.takewhile(lambda each: not isinstance(each, ast.Starred), call.args)
    return {**dict(zip(names, positional, strict=False)), **{k.arg: k.value for k in call.keywords if k.arg}}


def called(call: ast.Call) -> str:
    """Return the last part of the name of the called function; empty if it has no name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _first(found: set[str], names: Sequence[str]) -> set[str]:
    """Return the most likely pointer among the terms of an address."""
    likely = [each for each in found if not _NUMBER.fullmatch(each)] or list(found)
    return {min(likely, key=names.index)} if likely else set()


def _inner_load(value: ast.Call) -> ast.expr | None:
    """Return the address of ``tl.load(address).to(...)``."""
    inner: ast.expr = value
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr != "load":
        inner = inner.func.value
    return inner.args[0] if isinstance(inner, ast.Call) and called(inner) == "load" and inner.args else None


def _is_whole(value: ast.expr) -> bool:
    """Return False if a value is computed by functions such as ``tl.sum``, which lead away from positions."""
    calls = (each for each in ast.walk(value) if isinstance(each, ast.Call))
    return all(called(each) in _WHOLE_CALLS for each in calls)


def _keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """Return the value of the first of these keywords of a call."""
    return next((each.value for name in names for each in call.keywords if each.arg == name), None)
