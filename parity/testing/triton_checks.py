"""Makes a suite of one op from a Triton function and the fields of a declaration, for ``parity_check``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from parity.errors import UsageError, nearest
from parity.op import Op, triton
from parity.suite.loading import Suite
from parity.triton_kernels.declaring import kernels_in
from parity.triton_kernels.kernel import OPTIONS


def jit_function(function: object) -> Any:
    """Return the ``@triton.jit`` function below its decorators, or None for something else. Does not import Triton."""
    found: Any = function
    while type(found).__module__.startswith("triton.") and not hasattr(found, "params"):
        found = getattr(found, "fn", None)
    return found if type(found).__module__.startswith("triton.") and hasattr(found, "arg_names") else None


def triton_suite(function: Any, given: Mapping[str, Any]) -> Suite:
    """Return a suite with one op. ``given`` has keywords of the launch and fields of ``Op``.

    Raises:
        UsageError: a keyword is neither, or the declaration is wrong.
    """
    path, name = Path(function.fn.__code__.co_filename), function.fn.__name__
    keywords = (*function.arg_names, *OPTIONS, "autotune", "heuristics")
    launch = {key: value for key, value in given.items() if key in keywords}
    declared = {key: value for key, value in given.items() if key not in launch}
    known = [each.name for each in fields(Op) if each.init]
    if unknown := [key for key in declared if key not in known]:
        near = nearest(unknown[0], [*known, *keywords])
        raise UsageError(f"parity_check: {name} has no parameter {unknown[0]}, and Op has no such field{near}")
    with kernels_in(path.parent):
        kernel = triton(f"{path.name}:{name}", **launch)
    op = Op(**{"name": f"{path.stem}.{name.strip('_')}", "kernel": kernel, "types": ("f32",), "args": "", **declared})
    return Suite(path.parent, path.parent, {op.name: op}, case_files={op.name: path})
