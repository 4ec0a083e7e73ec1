"""The judge of an op without a reference: what CUDA's side left in a case, and what roundings matter to another's."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from parity.compare import RoundingRuns, expected_from_cuda, same_values
from parity.errors import Unreferenced
from parity.model.code_object import CodeObject
from parity.model.dtypes import Array
from parity.model.launch import Arithmetic, Outcome
from parity.op import Call
from parity.reference.expected import Expected
from parity.runners import Session, SupportsShadows, shadow_session

__all__ = ["CudaOracle", "ExecutableCode", "kernel_ptx"]


UNKNOWN = "the op has no reference, CUDA's values are others, and how far roundings may move them is not known: {}"


@dataclass(frozen=True)
class ExecutableCode:
    """Code that can be executed on this machine, and the session that does so."""

    session: Session
    code: CodeObject

    @property
    def shadowing(self) -> SupportsShadows | None:
        """The device that executes this code with other roundings: the session's, or an emulator of the target."""
        return self.session if isinstance(self.session, SupportsShadows) else shadow_session(self.code.target)


@dataclass(frozen=True, eq=False)
class CudaOracle:
    """The expected values of one side in a case, from what CUDA's side left there: ``outputs``, in logical shape.

    ``theirs`` is CUDA's side, where it can be executed with other roundings as well.
    """

    call: Call
    outputs: Mapping[str, Array]
    mine: ExecutableCode
    theirs: ExecutableCode | None = None

    def expected(self, got: Mapping[str, Array]) -> Mapping[str, Expected]:
        """The expected values of each output. Nothing is executed where ``got`` has the bits of CUDA's.

        Raises:
            Unreferenced: the code cannot be executed with other roundings.
        """
        if all(same_values(self.outputs[name], got[name]) for name in self.outputs):
            return {name: expected_from_cuda(value, Arithmetic.COMPARES, []) for name, value in self.outputs.items()}
        return self._expected

    @functools.cached_property
    def _expected(self) -> Mapping[str, Expected]:
        sides = [
            self.mine,
            *([self.theirs] if self.theirs and isinstance(self.theirs.session, SupportsShadows) else []),
        ]
        ran = [_ran(self.call, side) for side in sides]
        arithmetic = max(each for each, _ in ran)
        moved = [shadows() for _, shadows in ran] if arithmetic is Arithmetic.ROUNDS else []
        return {
            name: expected_from_cuda(value, arithmetic, [outputs[name] for outputs in moved], self._flushed)
            for name, value in self.outputs.items()
        }

    @property
    def _flushed(self) -> float:
        """What subnormal numbers that one side takes for 0 can come to: results of AMD's ``v_exp_f32`` (D14), and, one
        for each thread, what CUDA's sums of f32 in global memory add, what was there, and the sum (D15).
        """
        flushed = LEAST_NORMAL if _EXP.search(self.mine.code.listing) else 0.0
        if self.theirs and _SUMS.search(kernel_ptx(self.call, self.theirs.code)):
            launches = self.call.on(self.theirs.code).launch.sequence
            flushed += 3 * LEAST_NORMAL * sum(math.prod((*each.grid, *each.block)) for each in launches)
        return flushed


_EXP = re.compile(r"\bv_exp_f32")
_SUMS = re.compile(r"\b(?:atom|red)(?!\.[\w.:]*shared)\.[\w.:]*add[\w.:]*\.f32\b")
LEAST_NORMAL = 2.0**-126
"""The least normal number of f32."""


def kernel_ptx(call: Call, code: CodeObject) -> str:
    """The PTX of the kernels of a case, and of the functions that they call; empty where the code has none."""
    from parity.emulator.ptx.parse import function_texts, kernel_functions

    kernels = (each.kernel for each in call.on(code).launch.sequence)
    of_kernels = (kernel_functions(code.listing, name) for name in kernels if name in function_texts(code.listing))
    return "\n".join(each.text for several in of_kernels for each in several)


def _ran(call: Call, side: ExecutableCode) -> tuple[Arithmetic, Callable[[], Mapping[str, RoundingRuns]]]:
    """The floating-point operations of a side's code, and a function that runs it with other roundings."""
    session = side.shadowing
    if session is None:
        raise Unreferenced(UNKNOWN.format(f"no emulator runs {side.code.target}"))
    launch = call.on(side.code).launch

    def view(name: str, outcome: Outcome) -> Array:
        return call.outputs[name].view(outcome.buffers[name])

    def shadows() -> Mapping[str, RoundingRuns]:
        ran = session.shadows(side.code, launch, call.buffers)
        for each in (ran.nearest, *ran.moved, *ran.narrowed, *ran.unflushed):
            if each.fault:
                raise Unreferenced(UNKNOWN.format(f"executed with other roundings it ends: {each.fault.message}"))
        runs = ran.moved, ran.narrowed, ran.unflushed
        return {
            name: RoundingRuns(view(name, ran.nearest), *([view(name, each) for each in some] for some in runs))
            for name in call.outputs
        }

    return session.arithmetic(side.code, launch), shadows
