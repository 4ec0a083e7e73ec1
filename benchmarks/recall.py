"""Counts planted faults that are found without references: ``python -m benchmarks.recall [RECORDING] [NAME...]``.

Each fault of ``tests/planted_faults/`` is planted in AMD's side, like a mistake of a port. The kernel then runs the
cases that were recorded on an NVIDIA GPU (default: ``reports/h200.zip``), once judged by the references and once,
without references, by the recording. A fault is found if a case fails. ``NAME`` selects faults whose name contains
it, ``1/3`` every third fault, starting with the first.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from parity.engine.case_records import CaseRecord, Column, Task
from parity.engine.plan import Plan, runner_columns
from parity.engine.worker import Worker
from parity.model.code_object import CodeObject
from parity.op import Entry
from parity.report.tables import markdown
from parity.runners import replayed_recording, runner
from parity.suite.loading import Suite, find_suite
from tests.test_planted_faults import FAULTS, Fault, built_for

__all__ = ["found", "recorded_of", "unreferenced"]

RECORDING = Path(__file__).parents[1] / "reports" / "h200.zip"


def unreferenced(suite: Suite) -> Suite:
    """The suite without references; ops of libraries keep theirs."""
    ops = {name: op if op.library else replace(op, reference=None) for name, op in suite.ops.items()}
    return replace(suite, ops=ops)


@dataclass(frozen=True)
class Recorded:
    """CUDA's side: the column that replays, its code, and the cases that were recorded of every kernel."""

    column: Column
    code: dict[tuple[str, str], CodeObject]
    cases: dict[str, tuple[tuple[str, str], ...]]


def recorded_of(path: Path) -> Recorded:
    """CUDA's side from a recording."""
    spec = f"recorded={path}"
    replaying = runner(spec)
    recording = replayed_recording(replaying)
    assert recording is not None
    (column,) = runner_columns(replaying, replaying.targets(), spec)
    cases: dict[str, list[tuple[str, str]]] = {}
    for case in recording.cases:
        cases.setdefault(case.kernel, []).append((case.title, case.case))
    return Recorded(column, recording.code(), {kernel: tuple(each) for kernel, each in cases.items()})


def found(suite: Suite, entry: Entry, theirs: Recorded, target: str, code: CodeObject) -> list[CaseRecord]:
    """The records of AMD's side in the recorded cases of a kernel, of which ``code`` is the code."""
    (mine,) = runner_columns(runner("emulated"), [target])
    task = Task(entry.op.name, entry.dtypes, (theirs.column, mine), theirs.cases[entry.kernel], shrink=False)
    module = entry.op.module
    objects = {(module, mine): code, (module, theirs.column): theirs.code[module, theirs.column.target]}
    worker = Worker(Plan.of(suite, [task], objects, examples=1), suite)
    return [record for record in worker.run(task) if record.target == target]


def results(faults: list[Fault], theirs: Recorded) -> Iterator[tuple[str, str, str, str]]:
    """A line for every fault: its name, the kernel, and the failures with references and without."""
    suite = find_suite()
    for fault in faults:
        (entry,) = suite.select([fault.kernel]).entries
        with tempfile.TemporaryDirectory() as folder:
            edits = [(fault.file, fault.old, fault.new)]
            built = built_for(Path(folder) / "kernels", entry.op.module, fault.kernel, edits, fault.target)
        assert built.code_object, built.error
        line = [fault.name, fault.kernel]
        for each in (suite, unreferenced(suite)):
            records = found(each, each.entry(each.parse(theirs.cases[entry.kernel][0][1])), theirs, fault.target,
                            built.code_object)  # fmt: skip
            failed = [record for record in records if record.failed]
            kinds = dict.fromkeys(record.verdict.kind for record in failed)
            line.append(f"{len(failed)}/{len(records)} {', '.join(kinds)}".strip() if failed else "")
        yield line[0], line[1], line[2], line[3]
        print(*line, sep=" | ", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> None:
    path = Path(arguments.pop(0)) if arguments and arguments[0].endswith(".zip") else RECORDING
    every = next((word for word in arguments if re.fullmatch(r"\d+/\d+", word)), "1/1")
    first, step = map(int, every.split("/"))
    words = [word for word in arguments if word != every]
    chosen = FAULTS[first - 1 :: step]
    faults = [fault for fault in chosen if not words or any(word in fault.name for word in words)]
    lines = list(results(faults, recorded_of(path)))
    print(markdown(("fault", "kernel", "with references", "without"), lines))
    counts = [sum(bool(line[place]) for line in lines) for place in (2, 3)]
    print(f"\n{len(lines)} faults: {counts[0]} found with references, {counts[1]} without")


if __name__ == "__main__":
    main(sys.argv[1:])
