"""Compares the CPU time of each kernel as emulated PTX with its time as emulated AMD code.

    python -m benchmarks.sides [SELECTOR...] [--target gfx1100] [--examples N]

Both sides execute the same drawn cases in alternation, with every check, in one process; translation is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence

from parity.build.modules import build_suite
from parity.compilers.targets import CUDA_TARGET
from parity.engine.case_records import Column
from parity.engine.plan import Plan, make_tasks, runnable_tasks, runner_columns
from parity.runners import Runner, available
from parity.suite.loading import Suite, find_suite
from parity.suite.options import positive

REPEATS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each kernel, and the median of all."""
    parser = argparse.ArgumentParser("python -m benchmarks.sides", description=__doc__)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR")
    parser.add_argument("--target", default="gfx1100", metavar="T")
    parser.add_argument("--examples", type=positive, default=5, metavar="N")
    options = parser.parse_args(arguments)
    ratios = []
    for kernel, cuda, amd in measured(find_suite(), options.target, options.selectors, options.examples):
        ratios.append(cuda / amd)
        print(f"{kernel:<30} {1e3 * cuda:8.2f} ms  {1e3 * amd:8.2f} ms  {cuda / amd:6.2f}", flush=True)
    if not ratios:
        return 3
    slower = sum(ratio > 1 for ratio in ratios)
    print(f"{len(ratios)} kernels: PTX takes {statistics.median(ratios):.2f} of the time of {options.target} (median)")
    print(f"{slower} take longer, at most {max(ratios):.2f} times as long")
    return 0


def measured(suite: Suite, target: str, selectors: Sequence[str], examples: int) -> Iterator[tuple[str, float, float]]:
    """Each kernel with the CPU seconds of its cases as PTX and as AMD code: the best of some repetitions."""
    selection = suite.select(selectors)
    sides = {}
    for name, where in (("ptx", CUDA_TARGET), ("emulated", target)):
        runner = available(name)
        assert isinstance(runner, Runner)
        (column,) = runner_columns(runner, [where])
        built = build_suite(suite, suite.modules_with(suite.entries_in(selection)), [where])
        sides[column] = runner.open(where), {each.module: each.code_object for each in built if each.code_object}
    code = {(module, column): each for column, (_, objects) in sides.items() for module, each in objects.items()}
    tasks = runnable_tasks(make_tasks(selection, list(sides)), suite, code)
    plan = Plan.of(suite, tasks, code, examples=examples)
    for task in tasks:
        entry = suite.entry(task)
        calls = [entry.op.call(entry.op.parse(text)) for _, text in plan.draw(suite, task)]
        times: dict[Column, list[float]] = {column: [] for column in sides}
        for _ in range(REPEATS + 1):  # the first one translates
            for column, (session, _) in sides.items():
                start = time.process_time()
                for call in calls:
                    session.execute(code[entry.op.module, column], call.launch, call.buffers)
                times[column].append(time.process_time() - start)
        cuda, amd = (min(each[1:]) for each in times.values())
        yield entry.kernel, cuda, amd


if __name__ == "__main__":
    sys.exit(main())
