"""The declaration of a Triton kernel, ``triton("softmax.py:softmax_kernel", num_warps=4, BLOCK="bit_ceil(c)")``."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from parity.dsl.expression import Expression, Scope, expression
from parity.errors import UsageError
from parity.platform.serialization import json_text

OPTIONS = (
    *("num_warps", "num_stages", "num_ctas", "enable_fp_fusion", "sanitize_overflow", "maxnreg"),
    *("waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint", "allow_flush_denorm"),
)
"""Keywords that choose how Triton compiles, of both back ends. A back end ignores options of the other."""

CONFIG = "config"
"""The keyword that chooses a configuration of ``@triton.autotune`` by its place. Triton does not get it."""

Constant = bool | int | float | str | None

_FUNCTION = re.compile(r"(?P<file>[^:]+\.py):(?P<name>[A-Za-z_]\w*)")
_TYPES = {
    **{name: name for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bf16")},
    "f16": "fp16",
    "f32": "fp32",
    "f64": "fp64",
    "f8_e4m3": "fp8e4nv",
}
"""Triton's names of parity's dtypes."""
_PLAIN = re.compile(r"\W+")


@dataclass(frozen=True)
class Specialization:
    """One compilation of a Triton function: the kernel ``symbol`` of a code object.

    Attributes:
        file: file of the function below the kernels folder.
        signature: Triton's type of each argument, in order. The parameters of ``constants`` are not among them.
        aligned: numbers of the arguments that are multiples of 16.
        constants: values of constexpr parameters. ``tl.float32`` stands for the type of that name.
        options: options of the compiler, such as ``num_warps``.
        is_tuned: a configuration of ``@triton.autotune``, which Triton skips if a target cannot run it.
    """

    symbol: str
    file: str
    function: str
    signature: tuple[str, ...]
    aligned: tuple[int, ...]
    constants: Mapping[str, Constant]
    options: Mapping[str, Constant]
    is_tuned: bool = False

    @property
    def text(self) -> str:
        """The specialization as JSON."""
        return json_text(self).decode()


@dataclass(frozen=True, eq=False)
class TritonKernel:
    """A Triton function as the kernel of an op.

    Attributes:
        file, name: the Python file below the kernels folder, and the function in it.
        given: the keywords as declared: constexpr parameters and options.
        parameters: all parameters of the function in order, if some keywords are ``computed`` by heuristics.
        computed: the keywords that are expressions of the function's parameters.
        is_tuned: the keyword ``config`` chooses a configuration of ``@triton.autotune``.
    """

    file: str
    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    is_tuned: bool = False

    @property
    def choices(self) -> dict[str, tuple[Constant, ...]]:
        """The keywords with several values. Each is a parameter of the case."""
        return {name: tuple(value) for name, value in self.given.items() if isinstance(value, tuple | list)}

    @property
    def expressions(self) -> dict[str, Expression]:
        """The keywords whose values depend on the case."""
        texts = {name: value for name, value in self.given.items() if isinstance(value, str)}
        return {name: expression(text) for name, text in texts.items() if literal(text) is None}

    @property
    def constants(self) -> dict[str, Constant]:
        """The keywords with one value."""
        found: dict[str, Constant] = {}
        for name, value in self.given.items():
            if isinstance(value, str):
                if (text := literal(value)) is not None:
                    found[name] = text
            elif not isinstance(value, tuple | list):
                found[name] = value
        return found

    @property
    def numbers(self) -> dict[str, Expression]:
        """The keywords that expressions of the declaration can use: expressions, and constant whole numbers."""
        whole = {name: value for name, value in self.constants.items() if type(value) is int}
        return {**{name: expression(str(value)) for name, value in whole.items()}, **self.expressions}

    def with_arguments(self, texts: Sequence[str]) -> TritonKernel:
        """Replace the parameters in computed keywords by the expressions that a launch passes for them, in order."""
        left = [name for name in self.parameters if name not in self.given]
        passed = {name: ast.parse(text, mode="eval").body for name, text in zip(left, texts, strict=False)}

        class Replacement(ast.NodeTransformer):
            def visit_Name(self, node: ast.Name) -> ast.expr:
                return passed.get(node.id, node)

        found = {name: ast.unparse(Replacement().visit(ast.parse(self.given[name]))) for name in self.computed}
        return replace(self, given={**self.given, **found}, computed=())

    def case_values(self, params: Mapping[str, float | int], scope: Scope) -> dict[str, Constant]:
        """Return the values of the keywords that depend on the case.

        Raises:
            UsageError: an expression has no value.
        """
        chosen = {name: choice(values, int(params[name])) for name, values in self.choices.items()}
        return {**chosen, **{name: each(scope) for name, each in self.expressions.items()}}


def triton_kernel(function: str, given: Mapping[str, Any]) -> TritonKernel:
    """Return the kernel ``FILE.py:NAME`` with the keywords of a launch.

    Raises:
        UsageError: the form is wrong.
    """
    match = _FUNCTION.fullmatch(function)
    if not match:
        raise UsageError(f"triton({function!r}): write FILE.py:FUNCTION, such as softmax.py:softmax_kernel")
    for name, value in given.items():
        for each in value if isinstance(value, tuple | list) else (value,):
            if not (each is None or isinstance(each, bool | int | float | str)):
                raise UsageError(f"triton: {name}={each!r} is not a number, a bool, None or a text")
        if isinstance(value, tuple | list) and not value:
            raise UsageError(f"triton: {name} has no values to choose from")
    return TritonKernel(match["file"], match["name"], given)


def literal(text: str) -> str | None:
    """Return the value of a text constant, ``"'relu'"`` or ``"tl.float16"``; None for an expression."""
    if text.startswith("tl."):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None


def as_declared(value: Constant) -> Constant:
    """Return a constant as a declaration states it, the inverse of ``literal``: a text in quotes."""
    return repr(value) if isinstance(value, str) and not value.startswith("tl.") else value


def choice(values: tuple[Constant, ...], number: int) -> Constant:
    """Return the value that a parameter of a case chooses: the number itself, or the value at this place.

    Raises:
        UsageError: it chooses none of the values.
    """
    if all(type(value) is int for value in values):
        if number not in values:
            raise UsageError(f"{number} is not one of {' '.join(map(str, values))}")
        return number
    if not 0 <= number < len(values):
        raise UsageError(f"{number} is not the place of a value; there are {len(values)}, counted from 0")
    return values[number]


def parameter_values(values: tuple[Constant, ...]) -> tuple[int, ...]:
    """Return the numbers that a parameter of a case may have (see ``choice``)."""
    return tuple(v for v in values if type(v) is int) if all(type(v) is int for v in values) else (*range(len(values)),)


def triton_type(dtype: str) -> str:
    """Return Triton's name of a dtype.

    Raises:
        UsageError: Triton does not have it.
    """
    if dtype not in _TYPES:
        raise UsageError(f"Triton does not have the type {dtype}; it has {' '.join(_TYPES)}")
    return _TYPES[dtype]


def symbol(row: str, values: Mapping[str, Constant]) -> str:
    """Return the symbol of a specialization: the name of its row, and the values that depend on the case."""
    return "_".join((row, *(_PLAIN.sub("_", f"{name}{_spelled(value)}") for name, value in values.items())))


def _spelled(value: Constant) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value).replace("-", "m").replace(".", "p")
