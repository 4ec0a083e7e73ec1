"""Compares the runner ``rocm``, on emulated GPUs, with the runner ``emulated``, bit for bit.

    python -m benchmarks.through_hip [SELECTOR...] [--target gfx1100,gfx90a] [--examples N] [--amd]

The suite runs through HIP's calls, with parity's own libamdhip64 or, with ``--amd``, AMD's HIP runtime.
Every buffer of every case is compared, also buffers that a kernel only reads.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence

from parity.build.modules import build_suite
from parity.engine.plan import Plan, make_tasks, runnable_tasks, runner_columns
from parity.hip.library import environment
from parity.hsa import library as hsa
from parity.model.launch import Outcome
from parity.runners import available
from parity.suite.loading import Suite, find_suite
from parity.suite.options import EXAMPLES, names, positive

TARGETS = ("gfx1100", "gfx90a")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; 1 if a bit differs."""
    parser = argparse.ArgumentParser("python -m benchmarks.through_hip", description=__doc__)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR")
    parser.add_argument("--target", type=names, default=TARGETS, metavar="T,..")
    parser.add_argument("--examples", type=positive, default=EXAMPLES, metavar="N")
    parser.add_argument("--amd", action="store_true", help="use AMD's HIP runtime of an installed ROCm")
    options = parser.parse_args(arguments)
    if options.amd and (runtime := hsa.hip_runtime()) is None:
        parser.error("no ROCm with libamdhip64.so.7 is installed")
    found = hsa.environment(runtime, options.target) if options.amd else environment(options.target)
    # The loader reads LD_LIBRARY_PATH when a process starts.
    if any(os.environ.get(name) != value for name, value in found.items()) and "HIP_COMPARED" not in os.environ:
        words = [sys.executable, "-m", "benchmarks.through_hip", *(sys.argv[1:] if arguments is None else arguments)]
        os.execve(sys.executable, words, {**os.environ, **found, "HIP_COMPARED": "1"})
    suite = find_suite()
    wrong = 0
    for target in options.target:
        start, cases = time.perf_counter(), 0
        for text, problem in compared(suite, target, options.selectors, options.examples):
            cases += 1
            if problem:
                wrong += 1
                print(f"{target}: {text}: {problem}", flush=True)
        print(f"{target}: {cases} cases in {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{wrong} differ" if wrong else "all have the same bits")
    return 1 if wrong else 0


def compared(suite: Suite, target: str, selectors: Sequence[str], examples: int) -> Iterator[tuple[str, str]]:
    """Every case, and what differs in it."""
    runners = [available(name) for name in ("emulated", "rocm")]
    selection, (column,) = suite.select(selectors), runner_columns(runners[0], [target])
    built = build_suite(suite, suite.modules_with(suite.entries_in(selection)), [target])
    code = {(each.module, column): each.code_object for each in built if each.code_object}
    tasks = runnable_tasks(make_tasks(selection, [column]), suite, code)
    plan = Plan.of(suite, tasks, code, examples=examples)
    sessions = [runner.open(target) for runner in runners]
    sessions = [getattr(session, "nearest", session) for session in sessions]  # HIP's calls draw nothing
    for task in tasks:
        entry = suite.entry(task)
        for _, text in plan.draw(suite, task):
            call = entry.op.call(entry.op.parse(text))
            module = code[entry.op.module, column]
            ours, theirs = (session.execute(module, call.launch, call.buffers) for session in sessions)
            yield text, _difference(ours, theirs)


def _difference(ours: Outcome, theirs: Outcome) -> str:
    for outcome in (ours, theirs):
        if outcome.fault:
            return f"{outcome.fault.kind}: {outcome.fault.message}"
    changed = [name for name in ours.buffers if ours.buffers[name].tobytes() != theirs.buffers[name].tobytes()]
    return f"other bits in {', '.join(changed)}" if changed else ""


if __name__ == "__main__":
    sys.exit(main())
