"""Extends a run with a coverage-guided case search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from parity.application.run import Prepared
from parity.engine.calls import Progress, quiet
from parity.engine.case_records import add_cases
from parity.engine.coverage_search import FoundCase, search_coverage
from parity.suite.corpus import SUFFIX, add_to_corpus


def search_cases(prepared: Prepared, tries: int, progress: Progress = quiet) -> tuple[FoundCase, ...]:
    """Return cases that reach more code than the cases of the run, after executing up to ``tries`` cases per kernel."""
    plan, run = prepared.plan, prepared.run
    if not plan.tasks:
        return ()
    return tuple(search_coverage(plan, run.suite, tries, run.workers(progress)))


def add_found_cases(prepared: Prepared, found: Iterable[FoundCase]) -> Prepared:
    """Return the run with these cases added, on all of its columns."""
    tasks = add_cases(prepared.plan.tasks, ((each, each.title, each.case) for each in found))
    return replace(prepared, plan=replace(prepared.plan, tasks=tasks))


def keep_cases(prepared: Prepared, found: Sequence[FoundCase]) -> dict[Path, int]:
    """Add the cases to the corpus files of their case files. Return the number of new cases per file.

    Raises:
        UsageError: A file is not writable.
    """
    files: dict[Path, list[tuple[str, str]]] = {}
    for each in found:
        files.setdefault(prepared.run.suite.case_files[each.op], []).append((each.title, each.case))
    return {path.with_suffix(SUFFIX): add_to_corpus(path, cases) for path, cases in files.items()}
