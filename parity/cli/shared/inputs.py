"""What a command works on, as its options describe it: suite, selection, shard and cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from parity.application.loaded_run import LoadedRun
from parity.application.merging import measured_costs
from parity.application.run import Run
from parity.cli.shared.terminal import run_progress, warn
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.engine.case_records import CaseRecord
from parity.engine.shards import Shard
from parity.errors import NotAvailable, UsageError
from parity.model.case import Case
from parity.model.dtypes import dtype
from parity.op import Entry
from parity.suite.loading import Suite, find_suite, problems_of
from parity.suite.selection import Selection
from parity.suite.settings import SHIPPED, find_project

if TYPE_CHECKING:
    from parity.cluster.connection import Cluster


def load_suite(arguments: argparse.Namespace) -> Suite:
    """Load the suite that the options name.

    Prints the parts of the suite that cannot be used, and stores them in ``arguments.problems`` for the exit code.
    """
    suite = _find_suite(arguments)
    _report_problems(arguments, suite)
    return suite


def _report_problems(arguments: argparse.Namespace, suite: Suite) -> None:
    arguments.problems = suite.problems
    warn(*suite.problems)


def _find_suite(arguments: argparse.Namespace) -> Suite:
    if captured := getattr(arguments, "captured", None):
        return _captured_suite(captured, arguments)
    suite = find_suite(
        kernels=arguments.kernels_dir,
        cases=arguments.cases_dir,
        known=getattr(arguments, "known_issues", None),
        hip=arguments.hip_dir,
        launches=getattr(arguments, "launches", None),
    )
    if suite.kernels == SHIPPED / "kernels" and not Path.cwd().is_relative_to(SHIPPED):
        warn("no pyproject.toml with [tool.parity] is here or above; this is parity's own suite")
    return suite


def select(arguments: argparse.Namespace) -> tuple[Suite, Selection]:
    """Load the suite and select what the selectors and ``--dtype`` name. Ignores missing sources of other modules.

    Raises:
        UsageError: a dtype, op or kernel is unknown, or a case is malformed.
    """
    for name in arguments.dtype:
        dtype(name)
    suite = _find_suite(arguments)
    try:
        selection = suite.select(arguments.selectors, arguments.dtype)
        suite = suite if suite.capture else replace(suite, problems=problems_of(suite, selection))
    finally:
        _report_problems(arguments, suite)
    if not suite.capture:
        return suite, selection
    from parity.captures.suite import select_launches  # imports what infers declarations

    return suite, select_launches(suite, selection)


def _captured_suite(path: Path, arguments: argparse.Namespace) -> Suite:
    """Return the suite of a capture, for the targets that the options name."""
    from parity.captures.suite import captured_suite

    project = find_project(
        None, arguments.kernels_dir, arguments.cases_dir, getattr(arguments, "known_issues", None), arguments.hip_dir
    )
    targets = [name for name in arguments.target if name in TARGETS] or list(DEFAULT_TARGETS)
    with run_progress() as (_, note):
        return captured_suite(
            path,
            project,
            targets,
            jobs=getattr(arguments, "jobs", None),
            done=lambda built: note(f"{built.module} {built.target}"),
        )


@dataclass(frozen=True)
class EarlierRun:
    """What a run takes from an earlier one: failures in ``place`` (``--failed``) and ``costs`` (``--costs``)."""

    place: Path
    failed: tuple[CaseRecord, ...] | None
    costs: Mapping[str, float]

    @classmethod
    def read(cls, arguments: argparse.Namespace) -> EarlierRun:
        """Read the files that the options name.

        Raises:
            UsageError: a file cannot be used.
        """
        place = arguments.output if arguments.failed == Path() else arguments.failed
        failed = None if place is None else tuple(LoadedRun.read(place).failed)
        return cls(place, failed, read_costs(arguments))


def read_costs(arguments: argparse.Namespace) -> Mapping[str, float]:
    """Return the costs of kernels in the file of ``--costs``; empty without the option.

    Raises:
        UsageError: the file cannot be used, or ``--shard`` is missing.
    """
    if arguments.costs and not arguments.shard:
        raise UsageError("--costs balances shards; name the shard to run with --shard I/N")
    return measured_costs(arguments.costs) if arguments.costs else {}


def select_failed(earlier: EarlierRun, suite: Suite, selection: Selection) -> Selection:
    """With ``--failed``, reduce the selection to cases that failed and kernels that were missing or did not compile.

    Raises:
        NotAvailable: no selected case failed.
    """
    if earlier.failed is None:
        return selection
    kernels = {entry.kernel: entry for entry in suite.entries_in(selection)}
    entries: dict[Entry, None] = {}
    cases: dict[Case, None] = {}
    for record in earlier.failed:
        if (entry := kernels.get(record.kernel)) is None:
            continue
        try:
            cases[suite.parse(record.case)] = None
        except UsageError:  # the record has no case, or the op no longer accepts it: run all cases of the kernel
            entries[entry] = None
    if not entries and not cases:
        raise NotAvailable(f"no selected case failed in {earlier.place}; leave out --failed to run everything")
    return Selection(tuple(entries), tuple(cases))


def apply_shard(arguments: argparse.Namespace, run: Run, costs: Mapping[str, float]) -> Run:
    """With ``--shard``, reduce the run to one shard, balanced by ``costs``.

    Raises:
        UsageError: the shard does not exist.
    """
    return run.shard(Shard.of(arguments.shard), costs) if arguments.shard else run


@contextmanager
def connect_cluster(arguments: argparse.Namespace) -> Iterator[Cluster | None]:
    """Connect to the cluster that ``--cluster`` names; None without it.

    Raises:
        UsageError, MissingTool, NotAvailable: see ``parity.cluster.connection.connected``.
    """
    if arguments.cluster is None:
        if arguments.insecure_cluster:
            raise UsageError("--insecure-cluster needs --cluster")
        yield None
        return
    if arguments.jobs:
        raise UsageError("-j sets the processes of this machine; with --cluster, use --cluster local:N instead")
    from parity.cluster.connection import connected

    with connected(arguments.cluster, insecure=arguments.insecure_cluster) as cluster:
        yield cluster
