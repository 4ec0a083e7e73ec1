"""``triton``, which declares a Triton function, with the values that decorators of the function list or compute."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from parity.errors import UsageError
from parity.triton_kernels.compilation import Decorators, read_decorators
from parity.triton_kernels.kernel import CONFIG, OPTIONS, Constant, TritonKernel, as_declared, triton_kernel

_DEFAULTS: dict[str, Constant] = {"num_ctas": 1, "waves_per_eu": 0, "matrix_instr_nonkdim": 0, "kpack": 1}
"""Triton's values of options that a configuration does not state."""
_folder: ContextVar[Path | None] = ContextVar("kernels folder", default=None)


@contextmanager
def kernels_in(folder: Path) -> Iterator[None]:
    """State the kernels folder of the case files that are imported in the block."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def triton(
    function: str, *, autotune: bool | int | Sequence[int] = False, heuristics: bool = False, **given: Any
) -> TritonKernel:
    """Declare a Triton function as the kernel of an op.

    ``function`` is ``FILE.py:NAME``, with the file below the kernels folder. Keywords are the same as in a launch:
    constexpr parameters, and options such as ``num_warps``. A value is a number, a bool, None, an expression of the
    case (``"bit_ceil(c)"``), a text in two pairs of quotes (``"'relu'"``), a type (``"tl.float16"``), or a tuple of
    numbers, bools and texts, from which cases choose.

    ``autotune=True`` tests all configurations of ``@triton.autotune``, ``autotune=(0, 3)`` those at these places. Other
    keywords replace their values. ``heuristics=True`` takes values that are not among the keywords from
    ``@triton.heuristics``.

    Raises:
        UsageError: the form is wrong, or the decorators cannot be read.
    """
    kernel = triton_kernel(function, given)
    if autotune is False and not heuristics:
        return kernel
    if (root := _folder.get()) is None:
        raise UsageError("triton: autotune and heuristics are only for declarations in a case file, and parity_check")
    source = root / kernel.file
    if not source.is_file():
        raise UsageError(f"triton: {source} does not exist")
    source.read_bytes()  # so that the file counts among those that the case file has read
    found = _decorators(root.resolve(), kernel.file, kernel.name, tuple(kernel.constants.items()))
    for each in found.files:
        Path(each).read_bytes()
    return with_decorators(kernel, found, autotune=autotune, heuristics=heuristics)


@functools.lru_cache(maxsize=64)
def _decorators(root: Path, file: str, name: str, constants: tuple[tuple[str, Constant], ...]) -> Decorators:
    return read_decorators(root, file, name, dict(constants))


def with_decorators(
    kernel: TritonKernel, found: Decorators, *, autotune: bool | int | Sequence[int], heuristics: bool
) -> TritonKernel:
    """Add the values of decorators to a declaration.

    Raises:
        UsageError: the function does not have the decorator, or a value has no expression.
    """
    given = dict(kernel.given)
    if autotune is not False:
        given |= _configured(kernel, found, autotune)
    kernel = replace(kernel, is_tuned=CONFIG in given and CONFIG not in kernel.given)
    if not heuristics:
        return replace(kernel, given=given)
    if not (found.rules or found.problems):
        raise UsageError(f"triton: {kernel.name} has no @triton.heuristics; leave heuristics out")
    for name, reason in found.problems.items():
        if name not in given:
            raise UsageError(f"triton: the heuristic {name} of {kernel.name} cannot be used: {reason}; state {name}=")
    rules = {name: text for name, text in found.rules.items() if name not in given}
    values = {name: _constant(text) for name, text in rules.items()}
    computed = tuple(name for name, value in values.items() if value is ...)
    stated = {name: rules[name] if value is ... else as_declared(value) for name, value in values.items()}
    return replace(kernel, given={**given, **stated}, parameters=tuple(found.parameters), computed=computed)


def _configured(kernel: TritonKernel, found: Decorators, autotune: bool | int | Sequence[int]) -> dict[str, Any]:
    """Return the keywords for configurations of ``@triton.autotune``: expressions of the parameter ``config``."""
    configs = found.configurations
    if not configs:
        raise UsageError(f"triton: {kernel.name} has no configurations of @triton.autotune; leave autotune out")
    known = [name for name in (*found.parameters, *OPTIONS) if name not in kernel.given]
    names = [name for name in dict.fromkeys(name for each in configs for name in each) if name in known]
    rows = [tuple(each.get(name, _DEFAULTS.get(name)) for name in names) for each in configs]
    places = (*range(len(rows)),) if autotune is True else (autotune,) if isinstance(autotune, int) else (*autotune,)
    for place in places:
        if not (type(place) is int and 0 <= place < len(rows)):
            raise UsageError(f"triton: autotune={place!r}: {kernel.name} has {len(rows)} configurations, from 0")
    places = tuple({rows[place]: place for place in reversed(places)}.values())[::-1]  # each once
    if not places:
        raise UsageError("triton: autotune has no places; write autotune=True for all configurations")
    stated: dict[str, Any] = {CONFIG: places} if len(places) > 1 else {}
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        chosen = [column[place] for place in places]
        if len({repr(value) for value in chosen}) == 1:
            stated[name] = as_declared(chosen[0])
        elif all(isinstance(value, bool) for value in chosen):
            stated[name] = f"{CONFIG} in ({', '.join(str(place) for place in places if column[place])},)"
        elif all(type(value) is int for value in chosen):
            stated[name] = f"({', '.join(str(value if type(value) is int else 0) for value in column)},)[{CONFIG}]"
        else:
            shown = ", ".join(map(str, chosen))
            raise UsageError(f"triton: configurations have {name}={shown}; state {name}=, or select by autotune=")
    return stated


def _constant(text: str) -> Any:
    """Return the value of an expression that is a constant; ``...`` for others."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return ...
