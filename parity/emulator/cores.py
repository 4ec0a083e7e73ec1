"""Execute the workgroups of a launch by several threads of the host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from parity.emulator.language import LaunchShape
from parity.emulator.runtime_headers import constants

LDS = 1 << 18
"""Bytes reserved for the LDS of a thread: at least the LDS of the largest GPU."""
STACKS: int = constants("wavefronts.h")["MAX_WAVEFRONTS"] * constants("wavefronts.h")["STACK"]
"""Bytes of the stacks of a workgroup."""
SCRATCH = 1 << 28
"""Bytes of scratch memory that the threads of a launch may have together."""
_TRIAL = 1 << 17
"""Instructions that one thread executes before others help: 1 to 5 ms. To start them takes a tenth of it."""


def execute(launch: Callable[[Any], None], context: Any, shape: LaunchShape, cores: int, scratch: int) -> Any:
    """Execute the workgroups of a ``Context`` on up to ``cores`` threads, and return the context that has the result.

    ``launch`` executes the workgroups that the counter of a context yields. ``scratch`` is the size of a workgroup's
    scratch memory in bytes. Each further thread uses the next part of LDS, scratch memory and stacks. The result is the
    first fault in the order of the workgroups, as without further threads, or else all statistics.
    """
    counter = ctypes.c_uint64()
    context.next, context.trial = ctypes.addressof(counter), _TRIAL if cores > 1 else 0
    launch(context)
    left = shape.groups - counter.value
    if context.fault or cores == 1 or left <= 0:
        return context
    context.trial, before = 0, context.budget + context.reserve
    contexts = [context, *(_further(context, number, scratch) for number in range(1, min(cores, left)))]
    with ThreadPoolExecutor(len(contexts)) as pool:
        list(pool.map(launch, contexts))
    if failed := [each for each in contexts if each.fault]:
        return _moved(min(failed, key=lambda each: shape.number(each.group)), context)
    for each in contexts[1:]:
        context.reserve -= before - each.budget - each.reserve
        context.crossed = context.crossed or each.crossed
    return context


def _further(context: Any, number: int, scratch: int) -> Any:
    """A copy of a context for another thread."""
    found = type(context).from_buffer_copy(context)
    found.lds, found.size = context.lds + number * LDS, context.size + number * LDS
    found.scratch, found.stacks = context.scratch + number * scratch, context.stacks + number * STACKS
    return found


def _moved(failed: Any, first: Any) -> Any:
    """Change a fault in LDS, so that its address does not depend on the thread."""
    if 0 <= failed.address - failed.lds < 1 << 32:  # an offset has 32 bits
        failed.address -= failed.lds - first.lds
    failed.lds = first.lds
    return failed
