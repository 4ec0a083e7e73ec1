"""The tester is tested: faults planted in copies of the kernels must be caught, and shrunk to a few elements."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from parity.engine import Plan
from parity.engine.plan import tasks_of
from parity.engine.worker import Worker
from parity.runners import runner
from parity.suite import load_suite
from parity.toolchain import build

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Fault:
    """``old`` becomes ``new`` in one file; the kernel must fail in one of these ways, in a case of few elements."""

    name: str
    file: str
    old: str
    new: str
    kernel: str
    kinds: Sequence[str] = ("value",)
    elements: int = 1
    examples: int = 100
    target: str = "gfx1100"


FAULTS = [
    Fault(**row)
    for path in sorted(Path(__file__).with_name("planted_faults").glob("*.toml"))
    for row in tomllib.loads(path.read_text())["fault"]
]


def worker_for(
    tmp_path: Path, kernel: str, edit: tuple[str, str, str] | None, examples: int = 100, target: str = "gfx1100"
) -> Worker:
    """A worker on a copy of the kernels, for one kernel entry."""
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels")
    if edit:
        path = tmp_path / "kernels" / edit[0]
        text = path.read_text()
        assert edit[1] in text, f"{edit[0]} no longer holds {edit[1]!r}"
        path.write_text(text.replace(edit[1], edit[2]))
    suite = load_suite(tmp_path / "kernels", ROOT / "cases")
    selection = suite.select([kernel])
    module = selection.entries[0].op.module
    (built,) = build(suite.kernels, [module], [target])
    assert built.code_object, built.error
    plan = Plan(
        suite.kernels, suite.cases, "emulated", tasks_of(selection, [target]), examples, 0, True,
        {(module, target): built.code_object},
    )  # fmt: skip
    return Worker(plan, suite, runner("emulated"))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_planted_fault_is_caught_and_shrunk(fault, tmp_path):
    worker = worker_for(tmp_path, fault.kernel, (fault.file, fault.old, fault.new), fault.examples, fault.target)
    (task,) = worker.plan.tasks
    records = worker.perform(task, worker.plan.draw(worker.suite, task))
    failures = [r for r in records if not r.verdict.passed]
    assert failures, "the fault was not caught"
    minimal = [r.minimal for r in failures if r.minimal and r.minimal.verdict.kind in fault.kinds]
    assert minimal, {r.verdict.kind for r in failures}
    smallest = min(minimal, key=lambda r: size_of(worker, r.case))
    assert size_of(worker, smallest.case) <= fault.elements, smallest.case
    assert smallest.launch.startswith(fault.kernel)


def size_of(worker: Worker, text: str) -> int:
    case = worker.suite.parse(text)
    return max(tensor.layout.numel for _, tensor in case.tensors)


@pytest.mark.parametrize(("kernel", "target"), sorted({(fault.kernel, fault.target) for fault in FAULTS}))
def test_the_kernels_without_a_fault_pass_the_same_cases(kernel, target, tmp_path):
    worker = worker_for(tmp_path, kernel, None, target=target)
    (task,) = worker.plan.tasks
    records = worker.perform(task, worker.plan.draw(worker.suite, task))
    assert len(records) >= 50
    assert [r.case for r in records if not r.verdict.passed] == []


# A port that left C's casts as they were does what AMD's rules allow and CUDA's do not.
PLAIN_CASTS = (
    ("cast_f64_u32", "return x != x ? 0x80000000u : saturated_u32(x);", "return u32(x);", "D2"),
    ("cast_f32_i64", "i64 to_i64(f32 x) { return saturated_i64(x); }", "i64 to_i64(f32 x) { return i64(x); }", "D3"),
    ("cast_f64_i64", "i64 to_i64(f64 x) { return saturated_i64(x); }", "i64 to_i64(f64 x) { return i64(x); }", "D4"),
    ("cast_f32_u8", "return u8(to_u32(x));", "return u8(x);", "D5"),
)


@pytest.mark.parametrize(("kernel", "old", "new", "divergence"), PLAIN_CASTS)
def test_a_plain_cast_is_shown_as_a_known_divergence(kernel, old, new, divergence, tmp_path):
    worker = worker_for(tmp_path, kernel, ("convert.cuh", old, new))
    (task,) = worker.plan.tasks
    records = worker.perform(task, worker.plan.draw(worker.suite, task))
    assert [r.case for r in records if not r.verdict.passed] == []
    assert {d for r in records for d in r.verdict.divergences} == {divergence}
