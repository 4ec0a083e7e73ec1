"""Compares the runner ``ptx`` with a recording of an NVIDIA GPU, bit for bit.

    python -m benchmarks.through_ptx [SELECTOR...] [--recording reports/h200.zip] [--every N]

Every buffer of every recorded case is compared, also buffers that a kernel only reads.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parity.build.modules import build_suite
from parity.model.code_object import CodeObject
from parity.model.launch import Outcome
from parity.runners import available
from parity.runners.recording_file import RecordedCase, launch_digest, read_recording
from parity.suite.loading import Suite, find_suite
from parity.suite.options import positive

RECORDING = Path("reports", "h200.zip")


@dataclass(frozen=True)
class Compared:
    """One case: its kernel, and what differs; empty if no bit does."""

    case: str
    kernel: str
    problem: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; 1 if a bit differs."""
    parser = argparse.ArgumentParser("python -m benchmarks.through_ptx", description=__doc__)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR")
    parser.add_argument("--recording", type=Path, default=RECORDING, metavar="FILE")
    parser.add_argument("--every", type=positive, default=1, metavar="N", help="compare one of N cases of a kernel")
    parser.add_argument("--jobs", type=positive, default=1, metavar="N", help="processes")
    options = parser.parse_args(arguments)
    suite = find_suite()
    start, kernels, wrong, cases = time.perf_counter(), set(), Counter[str](), 0
    for each in compared(suite, options.recording, options.selectors, options.every, options.jobs):
        cases += 1
        kernels.add(each.kernel)
        if each.problem:
            wrong[each.kernel] += 1
            print(f"{each.case}: {each.problem}", flush=True)
    seconds = time.perf_counter() - start
    print(f"{len(wrong)} of {len(kernels)} kernels differ: {wrong.total()} of {cases} cases, in {seconds:.0f} s")
    return 1 if wrong else 0


def compared(suite: Suite, recording: Path, selectors: Sequence[str], every: int, jobs: int) -> Iterator[Compared]:
    """Every recorded case of the selected kernels, and what differs in it."""
    recorded = read_recording(recording)
    selection = suite.select(selectors)
    names = {entry.kernel for entry in suite.entries_in(selection)}
    cases = [case for case in recorded.cases if case.kernel in names]
    for target in dict.fromkeys(case.target for case in cases):
        modules = dict.fromkeys(case.module for case in cases if case.target == target)
        built = build_suite(suite, suite.modules_with(suite.entries_in(selection)), [target])
        code = {each.module: each.code_object for each in built if each.code_object and each.module in modules}
        parts: dict[tuple[str, str], list[RecordedCase]] = {}
        for case in cases:
            if case.target == target and case.module in code:
                parts.setdefault((case.module, case.kernel), []).append(case)
        work = [(code[several[0].module], target, several[::every]) for several in parts.values()]
        if jobs == 1:
            for each in work:
                yield from _kernel(*each)
        else:
            with ProcessPoolExecutor(jobs) as pool:
                for results in pool.map(_kernel, *zip(*work, strict=True)):
                    yield from results


def _kernel(code: CodeObject, target: str, cases: Sequence[RecordedCase]) -> list[Compared]:
    suite, session = find_suite(), available("ptx").open(target)  # type: ignore[union-attr]
    found = []
    for case in cases:
        op = suite.op(case.case.partition("[")[0])
        call = op.call(op.parse(case.case)).on(code)
        if launch_digest(call.launch, call.buffers) != case.launch:
            found.append(Compared(case.case, case.kernel, "the recording is of another launch"))
            continue
        ours = session.execute(code, call.launch, call.buffers)
        found.append(Compared(case.case, case.kernel, _difference(ours, case.outcome(call.buffers))))
    return found


def _difference(ours: Outcome, theirs: Outcome) -> str:
    if ours.fault or theirs.fault:
        fault = ours.fault or theirs.fault
        assert fault is not None
        return f"{fault.kind}: {fault.message}"
    for name, there in theirs.buffers.items():
        here = ours.buffers[name]
        if here.tobytes() != there.tobytes():
            a, b = (np.ascontiguousarray(each).view(f"u{each.dtype.itemsize}").reshape(-1) for each in (here, there))
            at = np.flatnonzero(a != b)
            first = int(at[0])
            return (
                f"{at.size} of {a.size} elements of {name}, the first is {first}: {here.reshape(-1)[first]} "
                f"({int(a[first]):#x}), recorded {there.reshape(-1)[first]} ({int(b[first]):#x})"
            )
    return ""


if __name__ == "__main__":
    sys.exit(main())
