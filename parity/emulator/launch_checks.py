"""Checks whether a launch fits a kernel and its target."""

from __future__ import annotations

from parity.compilers.targets import Target
from parity.emulator.faults import BoundsExceeded, LdsExceeded
from parity.emulator.language import LaunchShape
from parity.errors import UsageError
from parity.model.code_object import Kernel
from parity.model.launch import BLOCK


def check_shape(kernel: Kernel, name: str, shape: LaunchShape, target: Target) -> None:
    """Check the sizes of a launch.

    Raises:
        UsageError: a size is impossible on every GPU.
        BoundsExceeded, LdsExceeded: the launch does not fit the kernel or its target.
    """
    limit = target.lds_bytes
    if min(shape.grid) < 1 or min(shape.block) < 1 or shape.threads > BLOCK:
        raise UsageError(
            f"kernel {name!r} cannot be launched with grid {shape.grid} and block {shape.block}: every size is at "
            f"least 1, and a block has at most {BLOCK} threads"
        )
    if shape.threads > kernel.max_threads:
        raise BoundsExceeded(name, threads=shape.threads, limit=kernel.max_threads)
    if shape.shared_bytes < 0:
        raise UsageError(f"a launch of kernel {name!r} cannot have {shape.shared_bytes} bytes of dynamic LDS")
    static, dynamic = kernel.lds_bytes, shape.shared_bytes
    if (total := static + dynamic) > limit:
        raise LdsExceeded(name, total=total, static=static, dynamic=dynamic, target=target, limit=limit)
