"""Compares AMD's libraries with values that cuBLAS and cuDNN computed on an NVIDIA GPU.

    python -m benchmarks.library_values record FILE [SELECTOR...] [--runner torch=cuda:0] [--examples N]
    python -m benchmarks.library_values compare FILE --runner rocblas,miopen [SELECTOR...] [-o FOLDER]

``record`` stores in a file what a library gives for the named cases of each op and N drawn ones. The default is PyTorch
(``examples/parity-torch``), which calls cuBLAS for matrix products and cuDNN for convolutions. ``compare`` computes
the same cases with other libraries. It judges both results by the reference, compares them with each other, and writes
``library-values.md`` and ``.csv``. AMD's libraries run on an emulated GPU below ``parity exec``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.tables import store
from parity.compare.arbitration import Conclusion, SideResult, arbitrate
from parity.compare.verdict import Status
from parity.engine.checked_case import CheckedCase, Implementation
from parity.engine.judging import run_and_judge
from parity.engine.plan import Plan, make_tasks, runner_columns
from parity.errors import Unsupported
from parity.model.dtypes import Array
from parity.model.launch import Computation
from parity.op import Entry
from parity.platform.cache import digest
from parity.report.tables import markdown
from parity.runners import OpRunner, OpSession, available, device_description
from parity.runners.recording_file import Origin, RecordedCase, read_recording, write_recording
from parity.suite.loading import Suite, find_suite
from parity.suite.options import names, positive

DEFAULT = ("gemm", *(f"conv.conv{kind}" for kind in ("1d", "2d", "_transpose1d", "_transpose2d")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare; 1 if there was nothing to record, or if a library of AMD is wrong."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.library_values", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("selectors", nargs="*", metavar="SELECTOR", help=f"default: {' '.join(DEFAULT)}")
    parser.add_argument("--runner", type=names, default=("torch=cuda:0",), metavar="NAME,..")
    parser.add_argument("--examples", type=positive, default=3, metavar="N", help="drawn cases of each kernel")
    parser.add_argument("-o", "--output", type=Path, default=Path("parity-out"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    if options.action == "record":
        return record(options.file, options.selectors or DEFAULT, options.runner[0], options.examples)
    return compare(options.file, options.selectors, options.runner, options.output)


def library(spec: str) -> tuple[OpRunner, str]:
    """Return a runner that works here, and its first device."""
    runner = available(spec)
    assert isinstance(runner, OpRunner), f"{spec} is not a library"
    return runner, runner.targets()[0]


def record(file: Path, selectors: Sequence[str], spec: str, examples: int) -> int:
    """Store what a library computes. Unsupported cases and errors are only counted."""
    runner, target = library(spec)
    suite, found, left_out = find_suite(), list[RecordedCase](), Counter[str]()
    for entry, title, text in drawn(suite, selectors, runner, target, examples):
        call = entry.op.call(entry.op.parse(text))
        try:
            with np.errstate(all="ignore"):
                out = np.ascontiguousarray(runner.compute(target, call.computation))
        except Unsupported as reason:
            left_out[f"unsupported: {reason}"] += 1
        except Exception as error:  # a library's refusal is a result too
            left_out[f"{entry.name}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"] += 1
        else:
            key, buffers = computation_digest(call.computation), {"out": out.tobytes()}
            found.append(RecordedCase(text, title, entry.op.module, entry.kernel, target, key, buffers))
    origin: Origin = {
        "runner": spec,
        "vendor": "cuda",
        "evidence": str(runner.evidence),
        "device": device_description(runner),
        "seed": 0,
        "examples": examples,
        "environment": {"sources": {}},
    }
    print(f"{len(found)} cases of {len({case.kernel for case in found})} kernels by {spec}", origin["device"])
    for reason, count in left_out.most_common():
        print(f"left out {count}: {reason}")
    if found:
        write_recording(file, origin, (), found)
    return 0 if found else 1


def drawn(
    suite: Suite, selectors: Sequence[str], runner: OpRunner, target: str, examples: int
) -> Iterator[tuple[Entry, str, str]]:
    """Yield the kernel entry, the title and the text of each case."""
    tasks = make_tasks(suite.select(selectors), runner_columns(runner, [target]))
    plan = Plan.of(suite, tasks, {}, examples=examples)
    for task in tasks:
        yield from ((suite.entry(task), title, text) for title, text in plan.draw(suite, task))


def computation_digest(asked: Computation) -> str:
    """Return a digest of the inputs and parameters of a case."""
    values = {**asked.inputs, **{name: np.asarray(value) for name, value in asked.params.items()}}
    arrays = (part for name, each in values.items() for part in (name, str(each.shape), each.tobytes()))
    return digest(asked.op, *asked.dtypes, *arrays)


def compare(file: Path, selectors: Sequence[str], specs: Sequence[str], output: Path) -> int:
    """Compare libraries with a recording, and write a table."""
    recording, suite = read_recording(file), find_suite()
    chosen = {entry.kernel for entry in suite.entries_in(suite.select(selectors))}
    cases = [case for case in recording.cases if case.kernel in chosen]
    rows: dict[tuple[str, ...], Counter[str]] = {}
    details = []
    for spec in specs:
        runner, target = library(spec)
        for case in cases:
            entry = suite.entry(suite.parse(case.case))
            result, detail = compared(entry, case, runner, target)
            if result:
                rows.setdefault((spec, entry.op.name, " ".join(entry.dtypes)), Counter())[result] += 1
                details.append([spec, target, case.case, result, detail])
        print(spec, dict(Counter(row[3] for row in details if row[0] == spec)), flush=True)
    kinds = [kind for kind in (*map(str, Conclusion), NO_RESULT, STALE) if any(row[kind] for row in rows.values())]
    table = markdown(
        ["library", "op", "dtype", *kinds],
        [[*place, *(str(row[kind] or "") for kind in kinds)] for place, row in rows.items()],
    )
    device = ", ".join(f"{name} {value}" for name, value in recording.head["device"].items())
    head = f"The values of CUDA are by `{recording.head['runner']}`: {device}."
    store(output, "library-values", f"{head}\n\n{table}\n", ["library", "target", "case", "result", "detail"], details)
    return int(any(row[3] in (Conclusion.AMD, Conclusion.BOTH) for row in details))


STALE, NO_RESULT = "other inputs than recorded", "no result"


def compared(entry: Entry, recorded: RecordedCase, runner: OpRunner, target: str) -> tuple[str, str]:
    """Return the conclusion on a case and how far apart the values are; empty if the library does not support it."""
    case = entry.op.parse(recorded.case)
    asked = entry.op.call(case).computation
    if computation_digest(asked) != recorded.launch:
        return STALE, ""
    theirs = np.frombuffer(recorded.buffers["out"], asked.dtype.numpy).reshape(asked.shape)
    amd = run_and_judge(entry.op, case, Implementation(OpSession(lambda each: runner.compute(target, each)), "amd"))
    if amd.verdict.status is Status.UNSUPPORTED:
        return "", ""
    cuda = run_and_judge(entry.op, case, Implementation(OpSession(lambda _: theirs), "cuda"))
    expected = next(iter((amd.expected or {}).values()), None)
    found = arbitrate(_side(cuda), _side(amd), expected)
    if found is None:
        return NO_RESULT, str(amd.verdict)
    return str(found.conclusion), f"{found.elements} of {found.total} differ, by up to {found.ulps:g} ULP"


def _side(checked: CheckedCase) -> SideResult:
    outputs: list[Array] = [*checked.outputs.values()]
    return SideResult(checked.verdict, outputs[0] if outputs else None)


if __name__ == "__main__":
    sys.exit(main())
