"""Run cases again for the affected kernels whenever a source, header or case file changes, until Ctrl-C.

The first run is complete, like parity run. A later one executes only kernels whose machine code, cases or case file
have changed; the results of the others stay in the output. It notices files in the folders of kernels, headers, ports
and cases, headers that the kernels include from other folders, and files that the case files import or read.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parity.application.resuming import kernel_fingerprints
from parity.application.run import Prepared
from parity.application.stored_results import RECORD, load
from parity.cli.run import KeptRecords, run_with
from parity.cli.shared.parser import build_parser
from parity.cli.shared.terminal import errors, warn
from parity.engine.case_records import CaseRecord
from parity.engine.record_file import COMPILED
from parity.errors import MissingTool, ParityError, display_path
from parity.platform.installation import install_command
from parity.platform.signals import INTERRUPTED
from parity.porting import forget_folders
from parity.suite.corpus import SUFFIX
from parity.suite.settings import Project, find_project

if TYPE_CHECKING:
    from watchfiles import Change

SUFFIXES = (*COMPILED, ".c", ".cc", ".cpp", ".cxx", ".py", ".toml", SUFFIX)
"""The files whose changes matter."""

SETTLED, POLL = 200, 100
"""Milliseconds without a change before a run begins; milliseconds between checks for Ctrl-C."""


def main(arguments: argparse.Namespace) -> int:
    others = build_parser(["run"]).parse_args(["run", "--no-github"])  # the options that only parity run has
    return run_with(argparse.Namespace(**{**vars(others), **vars(arguments)}), partial(_watch, arguments))


def _watch(arguments: argparse.Namespace, run: Callable[[KeptRecords], int]) -> int:
    """Call ``run`` now and after every change until Ctrl-C, and return the exit code.

    Raises:
        MissingTool: watchfiles is not installed.
        KeyboardInterrupt: the user pressed Ctrl-C while nothing ran.
    """
    project = find_project(
        kernels=arguments.kernels_dir, cases=arguments.cases_dir, known=arguments.known_issues, hip=arguments.hip_dir
    )
    changes = _changes(project, frozenset())
    next(changes)  # start watching
    before: Mapping[tuple[str, str], str] = {}
    used: frozenset[Path] = frozenset()

    def kept(prepared: Prepared) -> tuple[CaseRecord, ...]:
        nonlocal before, changes, used
        if new := {path.resolve() for path in (*prepared.run.suite.imported, *prepared.plan.compiled)} - used:
            used |= new
            changes = _changes(project, used)
            next(changes)
        last, before = before, kernel_fingerprints(prepared)
        if not last:
            return ()
        records = load(arguments.output / RECORD).records
        same = {key for key, digest in before.items() if last.get(key) == digest}
        warn(f"{len(before) - len(same)} of {len(before)} kernels changed")
        return tuple(each for each in records if (each.op, each.kernel) in same)

    while True:
        try:
            if (code := run(kept)) == INTERRUPTED:
                return code
        except ParityError as error:
            errors().print(f"parity: {error}", style="red")
        warn("waiting for a change; press Ctrl-C to stop")
        names = next(each for each in changes if each)
        warn(f"changed: {' '.join(display_path(Path(name)) for name in sorted(names))}")
        forget_folders()


def _changes(project: Project, used: frozenset[Path]) -> Iterator[set[str]]:
    """Yield the sets of changed files; an empty set at first, and whenever no file has changed for a while.

    ``used`` are the files that case files import and read, and that kernels include. Their paths are resolved.
    """
    try:
        import watchfiles
    except ImportError as error:
        raise MissingTool("watchfiles", "this Python", install_command("watch")) from error
    sides = (project.sides.cuda, project.sides.amd)
    folders = [project.kernels, project.cases, project.sides.ported, *(path for side in sides for path in side.include)]
    folders += (path.parent for path in used)
    paths = {path.resolve() for path in (*folders, project.known) if path and path.exists()}

    def wanted(change: Change, path: str) -> bool:
        return path.endswith(SUFFIXES) or Path(path) in used

    found = watchfiles.watch(*paths, watch_filter=wanted, step=SETTLED, rust_timeout=POLL, yield_on_timeout=True)
    return ({path for _, path in each} for each in found)
