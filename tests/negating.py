"""Source of fake runners that negate, for the fixture ``installed``, and plans with cases for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parity.engine.case_records import Column
from parity.engine.plan import Plan, make_tasks
from parity.model.code_object import CodeObject, Kernel
from parity.runners import Evidence
from parity.suite.loading import Suite

#: A runner returns wrong results for the element counts in ``wrong``; ``meet`` can do something else for a count.
NEGATING = """
import errno, os, signal, time
from parity.errors import ResourceExhausted
from parity.model.launch import Fault, Outcome
from parity.runners import Evidence, Probe

class Negating:
    evidence, vendor, target, wrong = Evidence.NOT_RUN, "amd", "gfx1100", ()
    def probe(self): return Probe(True)
    def targets(self): return (self.target,)
    def open(self, target, *, checked=True): return self
    def prepare(self, code, kernels): pass
    def meet(self, numel): pass
    def execute(self, code, launch, buffers):
        numel, x = launch.args[0].value, buffers["x"].data
        out = x if numel in self.wrong else -x
        return self.meet(numel) or Outcome({**{n: b.data.copy() for n, b in buffers.items()}, "out": out})

class Steady(Negating):
    name, vendor, target = "steady", "cuda", "sm_90"

class Idle(Negating):
    name, wrong = "idle", range(1000)
"""

FRAGILE = Column("fragile", "gfx1100", Evidence.NOT_RUN, "amd", "fragile")
"""A column whose runner the test defines."""

STEADY = Column("steady", "sm_90", Evidence.NOT_RUN, "cuda", "steady")
"""A column of the other vendor whose results are correct."""

IDLE = Column("idle", "gfx1100", Evidence.NOT_RUN, "amd", "idle")
"""A column whose results are always wrong."""


def plan_for(
    suite: Suite,
    *sizes: int,
    columns: Sequence[Column] = (FRAGILE,),
    dtypes: Sequence[str] = ("f32",),
    examples: int = 1,
    seconds: float = 3.0,
) -> Plan:
    """Return a plan with a case of ``unary.neg`` for each dtype and size; ``seconds`` is the time limit of a case."""
    cases = [f"unary.neg[{name}](x={n}~normal@0)" for name in dtypes for n in sizes]
    kernels = {name: Kernel(name, (), 0, 0, 0, 0, 0, 32) for name in ("uneg_f32", "uneg_f64")}
    code = {("unary", column): CodeObject("unary", column.target, "", kernels, "digest") for column in columns}
    plan = Plan.of(suite, make_tasks(suite.select(cases), columns), code, examples=examples)
    return replace(plan, seconds=seconds)
