"""A recording: what a device computes, kept in a file that is replayed on any machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from parity.application.measuring import measure
from parity.engine import Journal, Plan, Progress, outcomes, quiet, recording_journal
from parity.engine.recording import Finished
from parity.errors import NotAvailable, ResourceExhausted, UsageError
from parity.platform.cache import digest
from parity.report.bench import bench_json
from parity.runners import device_description, runner
from parity.runners.recording_file import MEASUREMENTS, Origin, RecordedCase, write_recording

if TYPE_CHECKING:
    from parity.application.run import Prepared

__all__ = ["Recorded", "record"]


@dataclass(frozen=True)
class Recorded:
    """A recording in ``file`` with these cases; without any if it ended early, by the exception ``stopped``.

    Then ``kept`` says how much of it has been kept, and where, and recording the same run to the same file continues
    there.
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
    note: Callable[[str], None] | None = None,
    arguments: Iterable[str] = (),
) -> Recorded:
    """Execute the cases of a run on its one runner, and store what they leave behind; nothing is compared.

    ``measured`` stores what the kernels cost as well, with the ``arguments`` of the command. ``note`` is called with
    what became of an earlier attempt.

    Raises:
        UsageError: the file cannot be written.
        NotAvailable: nothing could be executed, or the device cannot be opened.
    """
    if file.is_dir():
        raise UsageError(f"{file} is a folder, and a recording is a file")
    run, plan = prepared.run, prepared.plan
    if not plan.tasks:
        raise NotAvailable("nothing was recorded: no case could be executed")
    head = _head(prepared)
    partial = file.with_name(f"{file.name}.partial")
    with recording_journal(partial, {"selection": digest(*map(repr, plan.tasks)), **head}) as journal:
        if note:
            _tell(journal, plan, note)
        try:
            cases = tuple(
                outcomes(plan, run.suite, journal, jobs=run.settings.jobs, progress=progress, pools=run.pools)
            )
            attached = {MEASUREMENTS: _measurements(prepared, progress, arguments)} if measured else {}
            write_recording(file, head, plan.code.values(), cases, attached)
        except (KeyboardInterrupt, ResourceExhausted) as problem:
            kept = f"{_share(journal, plan)} are in {journal.path}; the same command continues there"
            return Recorded(file, stopped=problem, kept=kept)
        journal.remove()
    return Recorded(file, cases)


def _head(prepared: Prepared) -> Origin:
    """The origin of the values: everything that decides them."""
    run, plan = prepared.run, prepared.plan
    column = plan.columns[0]
    assert column.vendor != "host"  # which computes ops and launches nothing
    return {
        "runner": column.runner,
        "vendor": column.vendor,
        "evidence": column.evidence,
        "device": run.cluster.describe(column.spec) if run.cluster else device_description(runner(column.spec)),
        "seed": plan.seed,
        "examples": plan.examples,
        "environment": run.environment(plan),
    }


def _tell(journal: Journal[Finished], plan: Plan, note: Callable[[str], None]) -> None:
    if journal.other:
        note(f"{journal.path} is of another recording, which differs in {journal.other}: starting anew")
    elif journal.entries:
        note(f"resuming: {_share(journal, plan)} are there")


def _share(journal: Journal[Finished], plan: Plan) -> str:
    return f"{len(journal.entries)} of {len(plan.tasks)} kernels"


def _measurements(prepared: Prepared, progress: Progress, arguments: Iterable[str]) -> bytes:
    """The measurements of the kernels, as ``parity bench`` stores them.

    Raises:
        KeyboardInterrupt, NotAvailable: what ended it.
    """
    found = measure(prepared, progress=progress)
    if found.stopped:
        raise found.stopped
    return bench_json(found.results(arguments)).encode()
