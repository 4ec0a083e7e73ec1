"""Records what a device computes, in a file that any machine can replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from parity.application.measuring import measure
from parity.application.run import Prepared
from parity.engine.calls import Progress, quiet
from parity.engine.journal import Journal
from parity.engine.outcomes import FinishedTask, outcome_journal, record_outcomes
from parity.engine.plan import Plan
from parity.errors import NotAvailable, ResourceExhausted, UsageError
from parity.platform.cache import digest
from parity.report.bench import bench_json
from parity.runners import device_description, runner
from parity.runners.recording_file import MEASUREMENTS, Origin, RecordedCase, write_recording


@dataclass(frozen=True)
class Recorded:
    """A recording in ``file`` with its cases.

    If the recording ended early, ``stopped`` is the exception that ended it, there are no cases, and ``kept`` describes
    the partial file. Recording the same run to the same file resumes from it.
    """

    file: Path
    cases: tuple[RecordedCase, ...] = ()
    stopped: KeyboardInterrupt | ResourceExhausted | None = None
    kept: str = ""


def record(
    prepared: Prepared,
    file: Path,
    *,
    measured: bool = False,
    progress: Progress = quiet,
    note: Callable[[str], None] = lambda text: None,
    arguments: Iterable[str] = (),
) -> Recorded:
    """Execute the cases of a run on its only runner, and store the outputs without comparing them.

    Args:
        prepared: The run, as ``Run.build`` returns it.
        file: The file to write.
        measured: Also measure the kernels, and store the measurements.
        progress: Receives the progress.
        note: Called with a message about an earlier, interrupted attempt.
        arguments: The command-line arguments to store with the measurements.

    Raises:
        UsageError: The file is not writable.
        NotAvailable: No case could be executed, or the device cannot be opened.
    """
    if file.is_dir():
        raise UsageError(f"{file} is a folder; a recording is a file")
    run, plan = prepared.run, prepared.plan
    if not plan.tasks:
        raise NotAvailable("nothing was recorded: no case could be executed")
    head = _origin(prepared)
    partial = file.with_name(f"{file.name}.partial")
    with outcome_journal(partial, {"selection": digest(*map(repr, plan.tasks)), **head}) as journal:
        if journal.other:
            note(f"{journal.path} belongs to another recording, which differs in {journal.other}: starting over")
        elif journal.entries:
            note(f"resuming: {_share(journal, plan)} are done")
        try:
            cases = tuple(record_outcomes(plan, run.suite, journal, run.workers(progress)))
            attached = {MEASUREMENTS: _measurements(prepared, progress, arguments)} if measured else {}
            write_recording(file, head, plan.code.values(), cases, attached)
        except (KeyboardInterrupt, ResourceExhausted) as problem:
            kept = f"{_share(journal, plan)} are in {journal.path}; the same command continues there"
            return Recorded(file, stopped=problem, kept=kept)
        journal.remove()
    return Recorded(file, cases)


def _origin(prepared: Prepared) -> Origin:
    """Return everything that decides the recorded values."""
    run, plan = prepared.run, prepared.plan
    column = plan.columns[0]
    assert column.vendor != "host"  # a library launches nothing
    return {
        "runner": column.runner,
        "vendor": column.vendor,
        "evidence": column.evidence,
        "device": run.cluster.describe(column.spec) if run.cluster else device_description(runner(column.spec)),
        "seed": plan.seed,
        "examples": plan.examples,
        "environment": run.environment(plan),
    }


def _share(journal: Journal[FinishedTask], plan: Plan) -> str:
    return f"{len(journal.entries)} of {len(plan.tasks)} kernels"


def _measurements(prepared: Prepared, progress: Progress, arguments: Iterable[str]) -> bytes:
    """Measure the kernels, and return the file that ``parity bench`` would write.

    Raises:
        KeyboardInterrupt, NotAvailable: The measuring ended early.
    """
    found = measure(prepared, progress=progress)
    if found.stopped:
        raise found.stopped
    return bench_json(found.results(arguments)).encode()
