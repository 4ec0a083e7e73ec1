"""Compare the emulator with AMD's pseudo-code: one small case of each kernel of the suite.

    python tests/emulator/second_opinion.py [SELECTOR...] [--target gfx1100] [--limit N]

Compares every bit of every buffer. Approximate instructions give the nearest numbers. The exit code is 1 if a bit
differs, and 130 after Ctrl-C, which still prints a summary.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, NamedTuple

import numpy as np
from isa_harness import MACHINES
from isa_kernels import Astray, CannotRun, execute

from parity.build.modules import build_suite
from parity.engine.case_records import Task
from parity.engine.plan import Plan
from parity.model.code_object import CodeObject
from parity.model.dtypes import array_dtype
from parity.op import Entry
from parity.runners import Runner, Session, available
from parity.suite.loading import Suite, find_suite

LIMIT = 400_000
"""Limit of instructions times lanes per case, which takes some tens of seconds."""

TRIES = 20
"""Number of cases drawn per kernel. The smallest of them runs, if possible without NaNs."""


class Opinion(NamedTuple):
    """The comparison of one kernel: ``problem`` is empty if all bits are equal, or states a difference.

    ``cannot``: the interpreter cannot run the kernel. ``nans``: NaNs are at the same places but have other bits, which
    the pseudo-code does not define.
    """

    kernel: str
    case: str
    problem: str = ""
    cannot: str = ""
    nans: bool = False


def opinion(suite: Suite, entry: Entry, target: str, code: CodeObject, session: Session, limit: int = LIMIT) -> Opinion:
    """Run the smallest of a few cases of a kernel with both."""
    plan = Plan.of(suite, (), {}, examples=TRIES, seed=1)
    calls = []
    for _, text in plan.draw(suite, Task(entry.op.name, entry.dtypes, ())):
        call = entry.op.call(entry.op.parse(text)).on(code)
        threads = sum(int(np.prod(each.grid)) * int(np.prod(each.block)) for each in call.launch.sequence)
        elements = sum(layout.numel for layout in call.outputs.values())
        work = threads + sum(len(buffer.data) for buffer in call.buffers.values())
        calls.append(((elements < 8, work), text, call))
    calls.sort(key=lambda each: each[0])
    outcomes = ((text, call, nearest(session).execute(code, call.launch, call.buffers)) for _, text, call in calls)
    tried = []
    for each in outcomes:
        tried.append(each)
        if not any(has_nan(array) for array in each[2].buffers.values()):
            break
    text, call, outcome = tried[-1] if not any(map(has_nan, tried[-1][2].buffers.values())) else tried[0]
    if outcome.fault:
        return Opinion(entry.kernel, text, f"the emulator has a fault: {outcome.fault.message}")
    try:
        found = execute(MACHINES[target], code, call.launch, call.buffers, limit)
    except Astray as error:
        return Opinion(entry.kernel, text, f"there is {error}")
    except CannotRun as error:
        return Opinion(entry.kernel, text, cannot=str(error))
    except (SyntaxError, NameError, TypeError, KeyError, ValueError) as error:
        return Opinion(entry.kernel, text, cannot=f"pseudo-code: {type(error).__name__}: {error}")
    nans = False
    for name, content in found.items():
        ours = outcome.buffers[name]
        theirs = np.frombuffer(content, ours.dtype)
        if ours.tobytes() == content:
            continue
        bits = f"u{ours.dtype.itemsize}" if ours.dtype.itemsize in (1, 2, 4, 8) else ours.dtype
        apart = ours.view(bits) != theirs.view(bits)
        if array_dtype(ours).is_float and np.all(np.isnan(ours[apart]) & np.isnan(theirs[apart])):
            nans = True
            continue
        at = np.flatnonzero(apart)[0]
        problem = f"{apart.sum()} of {ours.size} in {name}, first {at}: {ours[at]!r} here, {theirs[at]!r} there"
        return Opinion(entry.kernel, text, problem)
    return Opinion(entry.kernel, text, nans=nans)


def nearest(session: Session) -> Any:
    """Return the session with nearest results of approximate instructions."""
    return getattr(session, "nearest", session)


def has_nan(array: np.ndarray[Any, Any]) -> bool:
    return array_dtype(array).is_float and bool(np.isnan(array).any())


def _opinions(task: tuple[str, str, list[str], int]) -> list[Opinion]:
    module, target, entries, limit = task
    suite = find_suite()
    (built,) = build_suite(suite, [module], [target])
    if built.code_object is None:
        return [Opinion(name, "", cannot="it is not compiled") for name in entries]
    runner = available("emulated")
    assert isinstance(runner, Runner)
    session = runner.open(target)
    wanted = [entry for entry in suite.kernel_entries if entry.kernel in entries]
    return [opinion(suite, entry, target, built.code_object, session, limit) for entry in wanted]


def opinions(selectors: Sequence[str], target: str, limit: int, workers: int) -> Iterator[Opinion]:
    """Yield the comparisons of all selected kernels, in the order in which they end."""
    suite = find_suite()
    modules: dict[str, list[str]] = {}
    for entry in suite.entries_in(suite.select(selectors)):
        if entry.op.library:
            continue
        modules.setdefault(entry.op.module, []).append(entry.kernel)
    tasks = [(m, target, names[i : i + 4], limit) for m, names in modules.items() for i in range(0, len(names), 4)]
    pool = ProcessPoolExecutor(workers)
    try:
        for done in as_completed([pool.submit(_opinions, task) for task in tasks]):
            yield from done.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print differences and a summary; return 1 if there are differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR")
    parser.add_argument(
        "--target", choices=[name for name, each in MACHINES.items() if each.lanes == 32], default="gfx1100"
    )
    parser.add_argument("--limit", type=int, default=LIMIT, metavar="N")
    parser.add_argument("--workers", type=int, default=None, metavar="N")
    options = parser.parse_args(arguments)
    start, count, agreed, nans = time.perf_counter(), 0, 0, 0
    cannot: Counter[str] = Counter()
    differ = []
    interrupted = False
    try:
        for each in opinions(options.selectors, options.target, options.limit, options.workers):
            count += 1
            if each.problem:
                differ.append(each)
                outcome = each.problem
            elif each.cannot:
                cannot[each.cannot] += 1
                outcome = f"cannot run: {each.cannot}"
            elif each.nans:
                nans += 1
                outcome = "other bits in a NaN"
            else:
                agreed += 1
                outcome = "agrees"
            print(f"{each.kernel}: {each.case}: {outcome}", flush=True)
    except KeyboardInterrupt:
        interrupted = True
    print(f"{options.target}: {count} kernels in {time.perf_counter() - start:.0f} s; {agreed} agree in every bit, "
          f"{nans} but for the bits of NaN, {len(differ)} differ, {sum(cannot.values())} cannot be run")  # fmt: skip
    for reason, kernels in cannot.most_common():
        print(f"  {kernels}: {reason}")
    return 130 if interrupted else 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
