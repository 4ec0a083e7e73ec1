"""Reads Triton functions and their launches from Python source: what a parameter is, and which values it may have."""

from __future__ import annotations

import ast
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity.inference.host_launches import HostLaunch
from parity.inference.triton_roles import find_roles, parameters_of, passed, whole_numbers
from parity.triton_kernels.kernel import Constant
from parity.triton_kernels.loading import functions
from parity.triton_kernels.names import BYTES, IEEE, INDEX, MASK, REAL

_FLAG = re.compile(
    r"(?i)(?:.*_)?(?:has|is|use|do|with|enable|apply|store|save|return|recompute|causal|even|add|reverse|upcast)(?:_.*)?"
)
_BLOCK = re.compile(r"(?i).*(?:block|tile|bm|bn|bk|chunk|^b[a-z]$|^bt$|group_size_m).*")
_TYPE = re.compile(r"(?i).*(?:dtype|_type|acc_ty)$")
_MOST_CALLERS = 6
_STRIDES = (1, 128, 8192, 16384, 32768, 65536)
"""Strides of a tensor of a few small dims, the last first."""


@dataclass(frozen=True)
class TritonParameter:
    """A parameter of a Triton function.

    Attributes:
        is_constant: True for a constexpr.
        is_pointer, is_index: True for a tensor, and for one whose elements are positions or sizes.
        is_whole: True for a number that is part of an address or of a division of whole numbers.
        compared: the literals that the function compares it with.
        default: its default, if that is a literal.
    """

    name: str
    is_constant: bool
    is_pointer: bool = False
    is_index: bool = False
    is_whole: bool = False
    compared: tuple[Constant, ...] = ()
    default: Constant = None


@dataclass(frozen=True)
class TritonFunction:
    """A Triton kernel of a file, with its launches in host code, and the ``literals`` that they pass.

    ``has_dot`` is True if it multiplies matrices. ``callers`` are the files of host code that mention it.
    ``descriptors`` are the parameters that are tensor descriptors, which host code makes.
    """

    path: Path
    name: str
    line: int
    parameters: tuple[TritonParameter, ...]
    has_dot: bool
    launches: tuple[HostLaunch, ...] = ()
    literals: Mapping[str, Constant] = field(default_factory=dict)
    callers: tuple[Path, ...] = ()
    descriptors: tuple[str, ...] = ()

    @property
    def arguments(self) -> tuple[TritonParameter, ...]:
        """The parameters that are not constexpr."""
        return tuple(each for each in self.parameters if not each.is_constant)


def triton_kernels(paths: Sequence[Path], hosts: Sequence[Path]) -> list[TritonFunction]:
    """Return the kernels of files: functions that host code launches, or that no Triton function calls."""
    calls = _launches(hosts)
    found = []
    for path in paths:
        nodes = functions(path)
        called = {
            name
            for each in nodes
            for call in ast.walk(each)
            if isinstance(call, ast.Call) and (name := getattr(call.func, "id", "")) and name != each.name
        }
        helpers = {each.name: each for each in nodes} | _imported(path, hosts)
        for node in nodes:
            returns = any(isinstance(each, ast.Return) and each.value for each in ast.walk(node))
            if node.name in calls or not (returns or node.name in called):
                found.append(_function(path, node, calls.get(node.name, []), helpers))
    return _with_callers(found, hosts)


def _imported(path: Path, hosts: Sequence[Path]) -> dict[str, ast.FunctionDef]:
    """Return the Triton functions that a file imports from files of the project."""
    found = {}
    for each in ast.walk(ast.parse(path.read_text(errors="replace"))):
        if isinstance(each, ast.ImportFrom) and each.module and not each.module.startswith(("triton", "torch")):
            names = {alias.name for alias in each.names}
            for host in hosts:
                if host.stem == each.module.rpartition(".")[2]:
                    found.update({one.name: one for one in functions(host) if one.name in names})
    return found


def _with_callers(kernels: Sequence[TritonFunction], hosts: Sequence[Path]) -> list[TritonFunction]:
    """Add the files that mention each kernel: its own first, tests last."""
    callers: dict[str, list[Path]] = {each.name: [] for each in kernels}
    for path in hosts:
        for name in callers.keys() & set(re.findall(r"\w+", path.read_text(errors="replace"))):
            callers[name].append(path)

    def order(kernel: TritonFunction, path: Path) -> tuple[bool, bool, int]:
        same = path.resolve() == kernel.path.resolve()
        return not same, re.search(r"test|bench", str(path)) is not None, -len(os.path.commonpath((path, kernel.path)))

    return [
        replace(each, callers=tuple(sorted(callers[each.name], key=lambda path: order(each, path))[:_MOST_CALLERS]))
        for each in kernels
    ]


def choices(
    function: TritonFunction, real: str, *, flags: bool, size: int, wholes: bool = False
) -> dict[str, Constant]:
    """Return values of constexprs. ``real`` is a dtype, ``flags`` the value of flags, ``size`` of other numbers.

    ``wholes``: a name such as ``eps_exp`` does not show that a number is real.
    """
    constants = [each for each in function.parameters if each.is_constant]
    blocks = sum(bool(_BLOCK.fullmatch(each.name)) for each in constants)
    block = 128 if blocks < 2 and not function.has_dot else 32
    strides = likely_strides([each.name for each in function.parameters])
    found: dict[str, Constant] = {}
    for each in constants:
        name = each.name
        stated = function.literals.get(name)
        if stated is not None and not _BLOCK.fullmatch(name):
            found[name] = stated
        elif name in strides:
            found[name] = strides[name]
        elif _TYPE.fullmatch(name):
            found[name] = {"f16": "tl.float16", "bf16": "tl.bfloat16"}.get(real, "tl.float32")
        elif texts := [value for value in each.compared if isinstance(value, str)]:
            found[name] = texts[-1 if flags else 0]
        elif True in [v for v in (*each.compared, each.default) if isinstance(v, bool)] or _FLAG.fullmatch(name):
            found[name] = flags
        elif isinstance(each.default, float) or (REAL.fullmatch(name) and not wholes):
            found[name] = each.default if isinstance(each.default, float) else 0.5
        elif numbers := [value for value in each.compared if isinstance(value, int)]:
            found[name] = max(numbers[0], 0)
        elif each.default is not None:
            found[name] = each.default
        else:
            found[name] = block if _BLOCK.fullmatch(name) else size
    return {name: IEEE.get(value, value) if isinstance(value, str) else value for name, value in found.items()}


def dtypes(function: TritonFunction, real: str) -> dict[str, str]:
    """Return a dtype for each argument."""
    found = {}
    for each in function.arguments:
        if each.is_pointer:
            found[each.name] = "i32" if each.is_index else "u8" if BYTES.fullmatch(each.name) else real
        else:
            is_real = REAL.fullmatch(each.name) and not each.is_whole
            found[each.name] = "f32" if is_real or isinstance(each.default, float) else "i32"
    return found


def likely_strides(names: Sequence[str]) -> dict[str, int]:
    """Return the strides of small contiguous tensors for the arguments that are strides by name.

    Neighbours with the same first letter, apart from the word, are the strides of one tensor.
    """
    found: dict[str, int] = {}
    strides = [name for name in names if "stride" in name.lower()]
    for _, group in itertools.groupby(strides, lambda name: re.sub(r"(?i)_*strides?_*", "", name)[:1]):
        alike = [*group]
        sizes = _STRIDES if len(alike) > 1 else _STRIDES[1:]
        found.update(zip(reversed(alike), sizes, strict=False))
    return found


def _function(
    path: Path,
    node: ast.FunctionDef,
    calls: Sequence[tuple[ast.Call, HostLaunch]],
    helpers: Mapping[str, ast.FunctionDef],
) -> TritonFunction:
    arguments = parameters_of(node)
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = dict(zip((each.arg for each in positional[::-1]), reversed(node.args.defaults), strict=False))
    defaults |= {each.arg: d for each, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d}
    pointers, indices = find_roles(node, [each.arg for each in arguments], helpers)
    whole = whole_numbers(node)
    parameters = tuple(
        TritonParameter(
            each.arg,
            each.annotation is not None and "constexpr" in ast.unparse(each.annotation),
            each.arg in pointers,
            (each.arg in indices and not REAL.fullmatch(each.arg))
            or bool(INDEX.fullmatch(each.arg) or MASK.fullmatch(each.arg)),
            each.arg in whole,
            tuple(_compared(node, each.arg)),
            _literal(defaults[each.arg]) if each.arg in defaults else None,
        )
        for each in arguments
    )
    has_dot = any(isinstance(each, ast.Attribute) and each.attr == "dot" for each in ast.walk(node))
    names = [each.arg for each in arguments]
    literals: dict[str, Constant] = {}
    launches = []
    for call, launch in calls:
        values = passed(call, names)
        for name, value in values.items():
            if isinstance(value, ast.Constant) and isinstance(value.value, bool | int | float | str):
                literals.setdefault(name, value.value)
        texts = tuple(_text(values.get(each.name)) for each in parameters if not each.is_constant)
        launches.append(replace(launch, arguments=texts))
    made = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    descriptors = tuple(name for name in names if name not in made and name in _owners(node, "load", "store"))
    return TritonFunction(
        path, node.name, node.lineno, parameters, has_dot, tuple(launches), literals, descriptors=descriptors
    )


def _owners(node: ast.FunctionDef, *methods: str) -> set[str]:
    """Return the names whose methods a function calls."""
    attributes = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return {
        each.value.id for each in attributes
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.attr in methods
    }  # fmt: skip


def _compared(node: ast.FunctionDef, name: str) -> Iterator[Constant]:
    for each in ast.walk(node):
        tested = each.test if isinstance(each, ast.If | ast.IfExp) else each
        terms = tested.values if isinstance(tested, ast.BoolOp) else [tested] if tested is not each else []
        inner = [term.operand if isinstance(term, ast.UnaryOp) else term for term in terms]
        if any(isinstance(term, ast.Name) and term.id == name for term in inner):
            yield True
        if isinstance(each, ast.Compare) and isinstance(each.left, ast.Name) and each.left.id == name:
            for value in each.comparators:
                if isinstance(value, ast.Constant) and isinstance(value.value, str | int | bool):
                    yield value.value


def _literal(node: ast.expr) -> Constant:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, bool | int | float | str) else None


def _launches(hosts: Sequence[Path]) -> dict[str, list[tuple[ast.Call, HostLaunch]]]:
    """Return the launches ``kernel[grid](...)`` of host code by the kernel's name."""
    found: dict[str, list[tuple[ast.Call, HostLaunch]]] = {}
    for path in hosts:
        text = path.read_text(errors="replace")
        if "](" not in text:
            continue
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript):
                name = ast.unparse(call.func.value).rpartition(".")[2]
                if name.isidentifier():
                    launch = HostLaunch(name, (), (), "", ast.unparse(call), call.lineno, path.name)
                    found.setdefault(name, []).append((call, launch))
    return found


def _text(node: ast.expr | None) -> str:
    """Return what a launch passes for a number: 1 for the last stride of a tensor, or else its text."""
    if node is None:
        return ""
    text = ast.unparse(node)
    return "1" if re.fullmatch(r".*\.stride\(-1\)", text) else text
