"""Supports watching files: determines which kernels of a repeated run are unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parity.application.run import Prepared
from parity.engine.case_records import Task
from parity.errors import UsageError
from parity.platform.cache import digest, file_digest
from parity.platform.files import find_below
from parity.suite.corpus import SUFFIX


def kernel_fingerprints(prepared: Prepared) -> Mapping[tuple[str, str], str]:
    """Return a digest of everything that decides the verdicts on each (op, kernel).

    Covers the cases, the file that declares them, all files that case files import and read, and the kernel's own code
    on every column. Other code in the same file does not matter.
    """
    run, head, files = prepared.run, prepared.head(), prepared.run.suite.case_files
    found = find_below(run.suite.cases, SUFFIX)
    others = [path for path in (*run.suite.imported, *found) if path.resolve() not in files.values()]
    settings = [head["settings"][name] for name in ("launches", "known issues", "recordings")]
    same = digest(repr(settings), *map(file_digest, others))
    return {
        (task.op, kernel): digest(same, repr(task), files[task.op].read_bytes(), *_code(prepared, task))
        for task, kernel in run.kernels(prepared.plan)
    }


def _code(prepared: Prepared, task: Task) -> Iterator[str]:
    """Yield the code of a task on all of its columns."""
    from parity.emulator.amdgpu.device import AmdgpuDevice
    from parity.emulator.ptx.device import PtxDevice

    entry = prepared.run.suite.entry(task)
    for column in task.columns:
        if (code := prepared.plan.code.get((entry.op.module, column))) is None:
            continue
        device = PtxDevice if column.vendor == "cuda" else AmdgpuDevice
        for symbol in map(code.symbol, entry.kernels):
            try:
                yield from device.parts(code, symbol)
            except (UsageError, KeyError):  # the kernel's code cannot be separated
                yield code.digest
