"""Declares a Triton kernel with the numbers and the grid of a launch that the project's host code makes."""

from __future__ import annotations

import re

from parity.inference.call import safe_name
from parity.inference.prober import ProbedKernel, Prober
from parity.inference.spec import InferredSpec
from parity.triton_kernels.compilation import LaunchedArgument, LaunchedKernel

_BOUNDS = re.compile(r"(?i).*(?:cu_|offset|indptr|start|splits|_loc(?:_|$)).*")
"""Matches the names of tensors whose elements are where something begins."""
_LENGTHS = re.compile(r"(?i)(?!.*cu_).*(?:len|count|size|num_).*")
"""Matches the names of tensors whose elements are numbers of something."""


def launched_spec(launch: LaunchedKernel, prober: Prober, kernel: ProbedKernel, *, plain: bool) -> InferredSpec:
    """Return the specification of a launch. ``plain``: with data that fit together (``has_plain_data``)."""
    tensors = [each for each in launch.arguments if each.elements]
    numbers = {safe_name(each.name): each.value for each in launch.arguments if not each.elements}
    data = {each.name: stream for each in tensors if (stream := _stream(each, plain))}
    spec = InferredSpec(
        {each.name: str(each.elements) for each in tensors},
        tuple(map(str, launch.grid)),
        tuple(kernel.flow.threads),
        indices={each.name: str(each.most + 1) for each in tensors if data.get(each.name) in _POSITIONS},
        ranges=data,
        is_measured=True,
        made=numbers,
    )
    return prober.with_written(kernel, spec)


_POSITIONS = ("offsets", "permutation", "index", "consecutive")


def has_plain_data(launch: LaunchedKernel) -> bool:
    """Return whether tensors of positions can hold 0, 1, 2, ... as in the launch, and tensors of lengths ones.

    Such tensors fit together, while tensors that are drawn independently may lead out of bounds, or give two blocks the
    same elements.
    """
    return any(map(_counts, launch.arguments))


def _counts(tensor: LaunchedArgument) -> bool:
    """Return whether the elements of a tensor are 0, 1, 2, ..., and not only 0 and 1."""
    return tensor.ramps and tensor.most > 1


def _stream(tensor: LaunchedArgument, plain: bool) -> str:
    """Return the data stream of a tensor of integers."""
    if plain and _counts(tensor):
        return "1..1" if _LENGTHS.fullmatch(tensor.name) else "consecutive"
    if not tensor.most and not tensor.least:
        return ""
    if tensor.least or tensor.most == 1:
        return f"{tensor.least}..{tensor.most}"
    if tensor.rises and _BOUNDS.fullmatch(tensor.name):
        return "offsets"
    return "permutation" if tensor.distinct else "index"
