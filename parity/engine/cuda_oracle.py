"""The CUDA oracle: judges an op without a reference by CUDA's outputs, and by how much roundings can change the
results.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from parity.compare.cuda_oracle import RoundingRuns, expected_from_cuda, is_unstable, same_values
from parity.compilers.targets import TARGETS, gpu_of
from parity.emulator.amdgpu.approximate import EXPONENTIAL
from parity.emulator.amdgpu.listing import function_bodies
from parity.emulator.amdgpu.shadow import foreign_types, is_reordering, round_to_nearest
from parity.errors import Unreferenced
from parity.model.code_object import CodeObject
from parity.model.dtypes import Array
from parity.model.launch import Arithmetic, Outcome
from parity.op import Call
from parity.platform.cache import digest
from parity.reference.expected import Expected
from parity.runners import Session, SupportsShadows, shadow_session

UNKNOWN = "the op has no reference, CUDA's values differ, and the effect of roundings is unknown: {}"


@dataclass(frozen=True)
class ExecutableCode:
    """Code that this machine can execute, with the session that executes it."""

    session: Session
    code: CodeObject

    @property
    def shadowing(self) -> SupportsShadows | None:
        """The device that executes the code with other roundings: the session, or else an emulator of the target."""
        return self.session if isinstance(self.session, SupportsShadows) else shadow_session(self.code.target)


@dataclass(frozen=True, eq=False)
class CudaOracle:
    """The expectation for one side of a case, computed from CUDA's ``outputs`` (in logical shape).

    ``theirs`` is CUDA's side, if it can be executed with other roundings.
    """

    call: Call
    outputs: Mapping[str, Array]
    mine: ExecutableCode
    theirs: ExecutableCode | None = None

    def expected(self, got: Mapping[str, Array]) -> Mapping[str, Expected]:
        """Return the expectation of each output. Executes nothing if ``got`` equals CUDA's outputs bit by bit.

        Raises:
            Unreferenced: The code cannot be executed with other roundings.
        """
        if all(same_values(self.outputs[name], got[name]) for name in self.outputs):
            return {name: expected_from_cuda(value, Arithmetic.COMPARES, None) for name, value in self.outputs.items()}
        return self._expected

    @functools.cached_property
    def _expected(self) -> Mapping[str, Expected]:
        arithmetic, shadows = _ran(self.call, self._narrowing_to_nearest)
        approximates = not self._ptx or bool(_APPROXIMATE.search(self._ptx))
        runs = shadows() if arithmetic is Arithmetic.ROUNDS else {}
        items = self.outputs.items()
        size = self._input_size if runs else 0.0
        if any(self._is_unstable(name, runs.get(name), size) for name in self.outputs):
            return {name: Expected(value, unspecified=np.ones(value.shape, bool)) for name, value in items}
        flushed, is_ordered = self._flushed, self._is_ordered
        return {
            name: expected_from_cuda(
                value,
                arithmetic,
                runs.get(name),
                flushed,
                is_ordered,
                approximates,
                functools.partial(self._their_runs, name),
                bool(_MATRICES.search(self._ptx)),
            )
            for name, value in items
        }

    def _is_unstable(self, name: str, mine: RoundingRuns | None, input_size: float) -> bool:
        """True if roundings leave no digit of an element of an output, on both sides if CUDA's runs are known."""
        value = self.outputs[name]
        if not is_unstable(value, mine, input_size):
            return False
        theirs = self._their_runs(name)
        return theirs is None or is_unstable(value, theirs, input_size)

    def _their_runs(self, name: str) -> RoundingRuns | None:
        """The runs of an output of CUDA's side; None if they are unknown."""
        return self._theirs.get(name)

    @functools.cached_property
    def _theirs(self) -> Mapping[str, RoundingRuns]:
        """The runs of CUDA's outputs; empty if shadow runs of PTX do not move all of its operations."""
        if self.theirs is None or not self._ptx or _NOT_MOVED.search(self._ptx):
            return {}
        try:
            return _ran(self.call, self.theirs)[1]()
        except Unreferenced:
            return {}

    @functools.cached_property
    def _ptx(self) -> str:
        """The PTX of the case's kernels on CUDA's side, or an empty text."""
        return kernel_code(self.call, self.theirs.code) if self.theirs else ""

    @property
    def _input_size(self) -> float:
        """The largest finite number in the inputs; infinite for blocks of quantized values."""
        arrays = [np.asarray(each) for each in self.call.inputs.values()]
        if any(each.dtype.names for each in arrays):
            return math.inf
        with np.errstate(all="ignore"):  # signalling NaNs
            wide = [np.abs(each.astype(np.float64)) for each in arrays if each.size]
        return max((float(np.where(np.isfinite(each), each, 0).max()) for each in wide), default=0.0)

    @property
    def _is_ordered(self) -> bool:
        """True if the code under test adds in the order of the source, without loops and other threads."""
        code = self.mine.code
        if gpu_of(code.target) not in TARGETS or not code.listing:  # recorded values come without code
            return False
        kernels = (each.kernel for each in self.call.on(code).launch.sequence)
        return not any(is_reordering(body.text) for each in kernels for body in function_bodies(code.listing, each))

    @property
    def _narrowing_to_nearest(self) -> ExecutableCode:
        """The code under test, in which operations with types that CUDA's code lacks round to nearest in shadow runs.

        Otherwise a port through a narrower type, such as f32 through f16, would itself widen the error bound.
        """
        code = self.mine.code
        if not self._ptx or gpu_of(code.target) not in TARGETS:
            return self.mine
        listing = code.listing
        for launch in self.call.on(code).launch.sequence:
            text = "\n".join(each.text for each in function_bodies(listing, launch.kernel))
            listing = round_to_nearest(listing, launch.kernel, foreign_types(text, self._ptx))
        same = listing == code.listing
        return self.mine if same else replace(self.mine, code=replace(code, stored=listing, digest=digest(listing)))

    @property
    def _flushed(self) -> float:
        """The error that results if one side flushes subnormal numbers to 0.

        Covers results of AMD's ``v_exp_f32`` (D14), and CUDA's f32 sums in global memory (D15): per thread the addend,
        the old value and the sum.
        """
        flushed = LEAST_NORMAL if EXPONENTIAL.search(self.mine.code.listing) else 0.0
        if self.theirs and _SUMS.search(self._ptx):
            launches = self.call.on(self.theirs.code).launch.sequence
            flushed += 3 * LEAST_NORMAL * sum(math.prod((*each.grid, *each.block)) for each in launches)
        return flushed


_APPROXIMATE = re.compile(r"\.(?:approx|full)\b")
_MATRICES = re.compile(r"\bw?g?mma\.")
_NOT_MOVED = re.compile(r"\bmma\.[\w.:]*\.f16\s|\.approx[\w.]*\.bf16|\b(?:atom|red)\.[\w.:]*\bbf16|\.bf16\.f64\b")
"""What shadow runs of PTX do not move."""
_SUMS = re.compile(r"\b(?:atom|red)(?!\.[\w.:]*shared)\.[\w.:]*add[\w.:]*\.f32\b")
LEAST_NORMAL = 2.0**-126
"""The smallest normal f32."""


def kernel_code(call: Call, code: CodeObject) -> str:
    """Return the PTX or the listing of a case's kernels and of the functions that they call, or an empty text."""
    from parity.emulator.ptx.calls import kernel_functions
    from parity.emulator.ptx.parse import function_texts

    kernels = [each.kernel for each in call.on(code).launch.sequence]
    if gpu_of(code.target) in TARGETS:
        texts = [body.text for name in kernels for body in function_bodies(code.listing, name)]
    else:
        known = function_texts(code.listing)
        texts = [each.text for name in kernels if name in known for each in kernel_functions(code.listing, name)]
    return "\n".join(texts)


def has_extrema(call: Call, code: CodeObject) -> bool:
    """Return True if a case's kernels compute minima or maxima of floating-point numbers (D7)."""
    return bool(_EXTREMA.search(kernel_code(call, code)))


_EXTREMA = re.compile(r"\b(?:min|max)\.(?:\w+\.)*b?f(?:16|32|64)|\bv_\w*(?:min|max|med3)\w*_f(?:16|32|64)")


def output_of(call: Call, name: str, outcome: Outcome) -> Array:
    """Return the elements of an output in its logical shape."""
    return call.outputs[name].view(outcome.buffers[name])


def _ran(call: Call, side: ExecutableCode) -> tuple[Arithmetic, Callable[[], Mapping[str, RoundingRuns]]]:
    """Return the most general arithmetic of a side's code, and a function that runs it with other roundings."""
    session = side.shadowing
    if session is None:
        raise Unreferenced(UNKNOWN.format(f"no emulator runs {side.code.target}"))
    launch = call.on(side.code).launch

    def shadows() -> Mapping[str, RoundingRuns]:
        ran = session.shadows(side.code, launch, call.buffers)
        for each in (ran.nearest, *itertools.chain(*ran.groups)):
            if each.fault:
                raise Unreferenced(UNKNOWN.format(f"the run with other roundings fails: {each.fault.message}"))
        return {
            name: RoundingRuns(
                output_of(call, name, ran.nearest),
                *([output_of(call, name, each) for each in some] for some in ran.groups),
            )
            for name in call.outputs
        }

    return session.arithmetic(side.code, launch), shadows
