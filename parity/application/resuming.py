"""Finds the kernels that a resumed run, or a repeated run of ``parity watch``, need not execute again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from parity.application.run import Prepared
from parity.application.stored_results import RECORD
from parity.engine.case_records import CaseRecord, Task
from parity.engine.journal import describe_differences
from parity.engine.record_file import read_record
from parity.errors import UsageError
from parity.platform.cache import digest, file_digest
from parity.platform.files import find_below
from parity.platform.serialization import plain
from parity.suite.corpus import SUFFIX

ACCIDENTS = ("no memory", "out of memory", "system", "killed", "not run")
"""Kinds of "not judged" verdicts that may succeed on another attempt."""


def resumable_records(folder: Path, prepared: Prepared) -> tuple[CaseRecord, ...]:
    """Return the records in ``folder`` for the kernels that ``prepared`` need not execute again.

    A run writes its record kernel by kernel, so only the last kernel may lack cases.

    Raises:
        UsageError: The folder has no record, or a record of a different run or with different settings.
    """
    run, plan = prepared.run, prepared.plan
    record = read_record(folder / RECORD)
    there, here = ({**plain(head), "arguments": []} for head in (record.environment, prepared.head()))
    if differences := describe_differences(there, here, f"in {folder}", "now"):
        raise UsageError(
            f"{folder} has a run that cannot be resumed here: it differs in {differences}; resume it with the same "
            "options, sources and versions, or leave out --resume"
        )
    tasks = [((task.op, kernel), task) for task, kernel in run.kernels(plan)]
    # Named and drawn cases can be in separate tasks.
    again = {key for key, count in Counter(key for key, _ in tasks).items() if count > 1}
    again |= {_key(each) for each in record.records if each.verdict.kind in ACCIDENTS}
    if record.records and not record.complete:
        last = _key(record.records[-1])
        cases = [each for each in record.records if _key(each) == last]
        again |= {key for key, task in tasks if key == last and not _whole(prepared, task, cases)}
    return tuple(each for each in record.records if _key(each) not in again)


def _key(record: CaseRecord) -> tuple[str, str]:
    return record.op, record.kernel


def _whole(prepared: Prepared, task: Task, cases: list[CaseRecord]) -> bool:
    """Return True if these are all cases of a kernel, on all of its columns."""
    if not all(each.case for each in cases):  # no case could be drawn
        return False
    recordings = prepared.run.columns.recordings
    texts = [text for _, text in prepared.plan.draw(prepared.run.suite, task)]
    has = (recordings[c].texts(c.target) if c in recordings else texts for c in task.columns)
    return sum(each.case in texts for each in cases) == sum(text in each for each in has for text in texts)


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
