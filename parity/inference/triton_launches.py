"""Declares a Triton kernel with the numbers and the grid of a launch that the project's host code makes."""

from __future__ import annotations

from parity.inference.keywords import safe_name
from parity.inference.prober import ProbedKernel, Prober
from parity.inference.spec import InferredSpec
from parity.triton_kernels.compilation import LaunchedArgument, LaunchedKernel
from parity.triton_kernels.names import BOUNDS, LENGTHS


def launched_spec(launch: LaunchedKernel, prober: Prober, kernel: ProbedKernel, data: str) -> InferredSpec:
    """Return the specification of a launch, with ``data`` of one of the ``kinds_of_data``."""
    tensors = [each for each in launch.arguments if each.elements]
    numbers = {safe_name(each.name): each.value for each in launch.arguments if not each.elements}
    streams = {each.name: stream for each in tensors if (stream := _stream(each, data))}
    spec = InferredSpec(
        {each.name: str(each.elements) for each in tensors},
        tuple(map(str, launch.grid)),
        tuple(kernel.flow.threads),
        indices={each.name: str(each.most + 1) for each in tensors if streams.get(each.name) in _POSITIONS},
        ranges=streams,
        is_measured=True,
        made=numbers,
    )
    return prober.with_written(kernel, spec)


_POSITIONS = ("offsets", "permutation", "index", "consecutive")


def kinds_of_data(launch: LaunchedKernel) -> list[str]:
    """Return what the tensors of integers may hold, in the order to try.

    ``drawn``: Elements are drawn independently of each other, so that they may lead out of bounds, or give two blocks
    the same elements. ``launched``: Elements of the launch. ``plain``: Positions are 0, 1, 2, ... as in the launch, and
    lengths are 1.
    """
    is_known = any(each.values and each.most for each in launch.arguments)
    counts = any(map(_counts, launch.arguments))
    return ["drawn", *(["launched"] if is_known or counts else []), *(["plain"] if counts else [])]


def _counts(tensor: LaunchedArgument) -> bool:
    """Return whether the elements of a tensor are 0, 1, 2, ..., and not only 0 and 1."""
    return tensor.ramps and tensor.most > 1


def _stream(tensor: LaunchedArgument, data: str) -> str:
    """Return the data stream of a tensor of integers."""
    if data != "drawn" and _counts(tensor):
        return "1..1" if data == "plain" and LENGTHS.fullmatch(tensor.name) else "consecutive"
    if data == "launched" and tensor.values and tensor.least < tensor.most:
        return f"values.{'.'.join(map(str, tensor.values))}"
    if not tensor.most and not tensor.least and not (data == "launched" and tensor.values):
        return ""
    if tensor.least or tensor.most < 2:
        return f"{tensor.least}..{tensor.most}"
    if tensor.rises and BOUNDS.fullmatch(tensor.name):
        return "offsets"
    return "permutation" if tensor.distinct else "index"
