"""The judge of an op without a reference: what CUDA's side left in a case, and what roundings matter to another's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.codeobject import CodeObject
from parity.compare import expected_of, same
from parity.errors import Unreferenced
from parity.launch import Arithmetic
from parity.op import Call
from parity.reference.expected import Expected
from parity.runners import Session, Shadowing, shadowing

__all__ = ["Side", "Standard"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Side:
    """Code that can be executed on this machine, and the session that does so."""

    session: Session
    code: CodeObject

    @property
    def shadowing(self) -> Shadowing | None:
        """What executes this code with other roundings: the session, or an emulator of the target."""
        return self.session if isinstance(self.session, Shadowing) else shadowing(self.code.target)


@dataclass(frozen=True, eq=False)
class Standard:
    """What is expected of one side in a case, by what CUDA's side left there: ``outputs``, in logical shape.

    ``theirs`` is CUDA's side, where it can be executed with other roundings as well.
    """

    call: Call
    outputs: Mapping[str, Array]
    mine: Side
    theirs: Side | None = None

    def expected(self, got: Mapping[str, Array]) -> Mapping[str, Expected]:
        """What is expected of each output. Nothing is executed where ``got`` has the bits of CUDA's.

        Raises:
            Unreferenced: nothing here executes that code with other roundings.
        """
        if all(same(self.outputs[name], got[name]) for name in self.outputs):
            return {name: Expected(value) for name, value in self.outputs.items()}
        return self._expected

    @functools.cached_property
    def _expected(self) -> Mapping[str, Expected]:
        sides = [_ran(self.call, self.mine)]
        if self.theirs and isinstance(self.theirs.session, Shadowing):
            sides.append(_ran(self.call, self.theirs))
        arithmetic = max(each for each, _ in sides)
        return {
            name: expected_of(value, arithmetic, [[outputs[name] for outputs in runs()] for _, runs in sides])
            for name, value in self.outputs.items()
        }


Runs = Callable[[], Sequence[Mapping[str, Array]]]


def _ran(call: Call, side: Side) -> tuple[Arithmetic, Runs]:
    """What the code of a side does with floating-point numbers, and the outputs of its shadow runs, when asked for."""
    session = side.shadowing
    if session is None:
        raise Unreferenced(
            f"the op has no reference, CUDA's values differ from these, and no emulator runs {side.code.target} to "
            "show how far roundings may move them; run it beside --runner emulated"
        )
    launch = call.on(side.code).launch

    @functools.cache
    def runs() -> Sequence[Mapping[str, Array]]:
        found = []
        for number, outcome in enumerate(session.shadows(side.code, launch, call.buffers)):
            if outcome.fault is None:
                found.append({name: layout.view(outcome.buffers[name]) for name, layout in call.outputs.items()})
            elif number == 0:
                raise Unreferenced(
                    "the op has no reference, CUDA's values differ from these, and the emulator cannot show how far "
                    f"roundings may move them: {outcome.fault.message}"
                )
        return found

    arithmetic = session.arithmetic(side.code, launch)
    return arithmetic, runs if arithmetic > Arithmetic.COMPARES else lambda: ()
