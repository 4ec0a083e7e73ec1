"""A run that goes on from its cases to others, which reach more of the machine code of its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from parity.application.run import Prepared
from parity.engine import Progress, quiet
from parity.engine.coverage_search import Found, lead
from parity.engine.records import beside
from parity.suite.corpus import SUFFIX, add_found

__all__ = ["found_by", "kept", "with_cases"]


def found_by(prepared: Prepared, tries: int, progress: Progress = quiet) -> tuple[Found, ...]:
    """The cases that reach more than those of the run, of up to ``tries`` further ones for each kernel."""
    plan, run = prepared.plan, prepared.run
    if not plan.tasks:
        return ()
    return tuple(lead(plan, run.suite, tries, jobs=run.settings.jobs, progress=progress, pools=run.pools))


def with_cases(prepared: Prepared, found: Iterable[Found]) -> Prepared:
    """The run with these cases beside its own, on all of its columns."""
    tasks = beside(prepared.plan.tasks, ((each, each.title, each.case) for each in found))
    return replace(prepared, plan=replace(prepared.plan, tasks=tasks))


def kept(prepared: Prepared, found: Sequence[Found]) -> dict[Path, int]:
    """The files beside case files to which these cases were added, and how many each did not have.

    Raises:
        UsageError: a file cannot be written.
    """
    files: dict[Path, list[tuple[str, str]]] = {}
    for each in found:
        files.setdefault(prepared.run.suite.case_files[each.op], []).append((each.title, each.case))
    return {path.with_suffix(SUFFIX): add_found(path, cases) for path, cases in files.items()}
