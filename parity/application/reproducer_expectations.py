"""What a reproducer's programs accept as right: tables for the C program, binary files, and text for the README."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from parity.compare.cuda_oracle import expected_from_cuda
from parity.compare.interval import accepted_interval
from parity.compare.ulps import bit_patterns
from parity.engine.case_records import Column
from parity.engine.checked_case import CheckedCase
from parity.engine.cuda_oracle import CudaOracle, ExecutableCode
from parity.engine.worker import Worker
from parity.errors import Unreferenced, UsageError
from parity.model.dtypes import Array, DType, array_dtype
from parity.model.launch import Arithmetic, poisoned
from parity.op import Call, Entry
from parity.reference.expected import Expected
from parity.reference.sort import InOrder
from parity.runners import Vendor

ANY_VALUE, OR_NAN, SIGN_OF_ZERO = 1, 2, 4
"""The rules of an element, as ``enum rule`` in ``reproduce.h``."""


def expected_by_reference(entry: Entry, call: Call) -> Mapping[str, Expected]:
    """Return the reference's expectation for each output; empty without a reference.

    Raises:
        UsageError: A Python function decides what is right, which a C program cannot call.
    """
    expected = call.references() if call.references else {}
    for name, each in expected.items():
        if each.accepts and not isinstance(each.accepts, InOrder):
            raise UsageError(
                f"the reference of {entry.op.name} judges {name} as a whole and not element by element, "
                "so a program without parity cannot judge it; parity run executes this case"
            )
    return expected


def expected_by_cuda(
    entry: Entry, call: Call, worker: Worker, checks: Mapping[Column, CheckedCase]
) -> tuple[Mapping[str, Expected], list[str]]:
    """Return the expectation based on CUDA's outputs (empty if there are none), and notes about its origin.

    The outputs come from a capture, or from the column that executes CUDA's side.

    Raises:
        UsageError: An output holds blocks, whose fields have separate rules.
    """
    cuda = next((c for c in checks if c.side == "cuda" and checks[c].outputs and not checks[c].verdict.failed), None)
    if cuda is None and call.observed is None:
        return {}, ["The op has no reference, and CUDA's result is not known: the programs only print their results."]
    outputs = call.observed.outputs if call.observed else checks[cuda].outputs if cuda else {}
    if block := next((name for name in outputs if call.buffers[name].dtype.is_block), ""):
        raise UsageError(
            f"{entry.op.name} has no reference, and {block} holds blocks, whose fields have rules that a "
            "program without parity does not know; parity run executes this case"
        )
    note = f"The op has no reference: what {call.observed.device if call.observed else cuda} computed is the baseline"
    sides = {
        column: ExecutableCode(worker.kernels(column), worker.plan.code[entry.op.module, column])
        for column in (*(c for c in checks if c.vendor == "amd"), cuda)
        if column and column.built
    }
    theirs = sides.get(cuda) if cuda else None
    mine = next((side for column, side in sides.items() if column.vendor == "amd"), theirs)
    dtypes = {name: call.buffers[name].dtype for name in outputs}
    unlike = {name: poisoned(dtypes[name], each.size).reshape(each.shape) for name, each in outputs.items()}
    try:
        if mine is None:
            raise Unreferenced("nothing was executed")
        expected = dict(CudaOracle(call, outputs, mine, theirs).expected(unlike))
        return expected, [f"{note}, within what roundings explain (docs/tolerance-model.md of parity, section 10)."]
    except Unreferenced as error:
        exact = {name: expected_from_cuda(value, Arithmetic.COMPARES, None) for name, value in outputs.items()}
        return exact, [f"{note}, bit by bit: {error}."]


def output_tables(
    call: Call, expected: Mapping[str, Expected], sides: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    """Return a table for each output for the C program, and the files with accepted values."""
    tables: list[dict[str, Any]] = []
    files: dict[str, bytes] = {}
    for name, layout in call.outputs.items():
        buffer, each = call.buffers[name], expected.get(name)
        order = each.accepts if each and isinstance(each.accepts, InOrder) else None
        interval = each is not None and order is None and (each.bounds is not None or each.accepts is not None)
        also = [f"also{n}" for n, _ in enumerate(each.alternatives, 1)] if each else []
        if each is not None:
            arrays = _arrays(each, sides if interval else (), order)
            files |= {f"data/{name}.{what}.bin": array.tobytes() for what, array in arrays.items()}
        tables.append(
            {
                "name": name,
                "type": _type(buffer.dtype),
                "shape": layout.shape,
                "strides": layout.strides,
                "offset": layout.offset,
                "count": len(buffer.data),
                "known": each is not None,
                "interval": interval,
                "sorts": order is not None,
                "also": also,
                "divergences": list(each.divergences) if each else [],
            }
        )
    return tables, files


def _arrays(expected: Expected, sides: Sequence[str], order: InOrder | None) -> dict[str, Array]:
    """Return the arrays of an output by the name of their file; ``sides`` are those with an accepted interval."""
    rules = sum(
        np.where(np.broadcast_to(test, expected.value.shape), rule, 0)
        for test, rule in (
            (expected.unspecified, ANY_VALUE), (expected.nan_allowed, OR_NAN), (expected.sign_of_zero, SIGN_OF_ZERO),
        )
    )  # fmt: skip
    arrays = {"expected": expected.value, "rules": np.asarray(rules, np.uint8)}
    arrays |= {f"also{n}": value for n, value in enumerate(expected.alternatives, 1)} | dict(expected.divergences)
    if order:
        arrays["ranks"] = order.ranks
    for side in sides:
        vendor: Vendor = "cuda" if side == "cuda" else "amd"
        arrays |= dict(zip((f"lower.{side}", f"upper.{side}"), accepted_interval(expected, vendor), strict=True))
    return arrays


def _type(kind: DType) -> str:
    """Return a dtype as ``struct type`` of ``reproduce.h``."""
    family = {"float": "FLOAT", "int": "SIGNED", "uint": "UNSIGNED", "block": "BLOCK"}[kind.kind]
    ends = np.array([kind.max if kind.saturates else np.inf] if kind.is_float else [0])
    largest = int(bit_patterns(ends.astype(kind.numpy))[0]) if kind.is_float else 0
    return f'{{"{kind.name}", {family}, {kind.itemsize}, {kind.precision}, {kind.emin}, 0x{largest:x}}}'


def rule_texts(expected: Mapping[str, Expected]) -> Iterator[str]:
    """Yield a sentence for each output that states which values are accepted."""
    for name, each in expected.items():
        words = ["exactly the expected value" + ", or any NaN for NaN" * array_dtype(each.value).is_float]
        if isinstance(each.accepts, InOrder):
            words = ["indices that sort each row, with equal elements in any order (`ranks`)"]
        elif each.bounds or each.accepts:
            words = ["from `lower` to `upper`, which differ between the sides: compilers document different accuracies"]
        words += [f"or a value of `{name}.also{n}.bin`" for n, _ in enumerate(each.alternatives, 1)]
        differ = "or, in all elements that differ, `{0}.{1}.bin` (parity: docs/divergences.md, {1})"
        words += [differ.format(name, other) for other in each.divergences]
        words += ["or NaN where `rules` has 2"] * bool(np.any(each.nan_allowed))
        words += ["or any value where `rules` has 1"] * bool(np.any(each.unspecified))
        words += ["the sign of a zero counts where `rules` has 4"] * bool(np.any(each.sign_of_zero))
        yield f"`{name}`: {'; '.join(words)}."
