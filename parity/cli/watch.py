"""A run that is repeated whenever a source, header or case file changes, for the kernels that are others then."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parity.application import RECORD, Prepared, load
from parity.application.watching import fingerprints
from parity.cli.terminal import errors, warn
from parity.engine import CaseRecord
from parity.errors import MissingTool, ParityError, UsageError, shown
from parity.platform.files import CUDA_SUFFIXES
from parity.platform.signals import INTERRUPTED
from parity.porting.sources import forget_folders
from parity.suite.corpus import SUFFIX
from parity.suite.settings import Project, find_project

if TYPE_CHECKING:
    from watchfiles import Change

__all__ = ["Kept", "add_watch", "watched"]

Kept = Callable[[Prepared], tuple[CaseRecord, ...]]
"""Gives the records of kernels that a run need not execute again."""

SUFFIXES = (
    *CUDA_SUFFIXES,
    ".hip",
    ".cuh",
    ".h",
    ".hh",
    ".hpp",
    ".inl",
    ".inc",
    ".c",
    ".cc",
    ".cpp",
    ".py",
    ".toml",
    SUFFIX,
)
SETTLED, POLL = 200, 100
"""Milliseconds: for how long no file may change before a run begins; how often it is looked for Ctrl-C."""


def add_watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--watch",
        action="store_true",
        help="run again whenever a source, header or case file changes, what is another kernel then; Ctrl-C ends it",
    )


def watched(arguments: argparse.Namespace, run: Callable[[Kept], int]) -> int:
    """Call ``run`` now and after every change, until Ctrl-C; the exit code.

    Raises:
        MissingTool: watchfiles is not installed.
        KeyboardInterrupt: Ctrl-C, while nothing ran.
    """
    for option in ("failed", "resume", "shard", "history"):
        if getattr(arguments, option) is not None:
            raise UsageError(f"--watch runs what changed, and goes on; leave out --{option}")
    project = find_project(
        kernels=arguments.kernels_dir, cases=arguments.cases_dir, known=arguments.known_issues, hip=arguments.hip_dir
    )
    changes = _changes(project)
    next(changes)  # from here on they are seen
    before: Mapping[tuple[str, str], str] = {}

    def kept(prepared: Prepared) -> tuple[CaseRecord, ...]:
        nonlocal before
        last, before = before, fingerprints(prepared)
        if not last:
            return ()
        records = load(arguments.output / RECORD).records
        same = {key for key, digest in before.items() if last.get(key) == digest}
        warn([f"{len(before) - len(same)} of {len(before)} kernels changed"])
        return tuple(each for each in records if (each.op, each.kernel) in same)

    while True:
        try:
            if (code := run(kept)) == INTERRUPTED:
                return code
        except ParityError as error:
            errors().print(f"parity: {error}", style="red")
        warn(["waiting for a change; Ctrl-C ends it"])
        names = next(each for each in changes if each)
        warn([f"changed: {' '.join(shown(Path(name)) for name in sorted(names))}"])
        _forget(project)


def _changes(project: Project) -> Iterator[set[str]]:
    """The files that changed, again and again; nothing at first, and after a time in which none did."""
    try:
        import watchfiles
    except ImportError as error:
        raise MissingTool("watchfiles", "this Python", "python -m pip install 'parity-harness[watch]'") from error
    sides = (project.sides.cuda, project.sides.amd)
    folders = [project.kernels, project.cases, project.sides.ported, *(path for side in sides for path in side.include)]
    paths = {path.resolve() for path in (*folders, project.known) if path and path.exists()}

    def wanted(change: Change, path: str) -> bool:
        return path.endswith(SUFFIXES)

    found = watchfiles.watch(*paths, watch_filter=wanted, step=SETTLED, rust_timeout=POLL, yield_on_timeout=True)
    return ({path for _, path in each} for each in found)


def _forget(project: Project) -> None:
    """Forget what was read of files that may have changed: modules beside the case files, and lists of headers."""
    cases = project.cases.resolve()
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file).is_relative_to(cases):
            del sys.modules[name]
    importlib.invalidate_caches()
    forget_folders()
