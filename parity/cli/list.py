"""List the ops of the suite with their dtypes and kernels, or the cases that a run would execute."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from rich.text import Text

from parity.captures.file import Capture, read_capture
from parity.cli.capture import skipped_lines
from parity.cli.shared.inputs import select
from parity.cli.shared.terminal import output
from parity.engine.plan import Plan, make_tasks
from parity.errors import pluralize
from parity.model.code_object import source_name
from parity.model.launch import Grid
from parity.op import Entry
from parity.report.tables import Cell, coloured
from parity.suite.loading import Suite
from parity.suite.selection import Selection


def main(arguments: argparse.Namespace) -> int:
    if arguments.captured:
        _print_launches(read_capture(arguments.captured))
        return 0
    suite, selection = select(arguments)
    if arguments.cases:
        _print_cases(suite, selection, arguments.examples, arguments.seed)
        return 0
    entries = suite.entries_in(selection)
    console = output()
    console.print(_table(entries))
    kernels = [entry for entry in entries if not entry.op.library]
    ops = {entry.op.name for entry in kernels}
    modules = {entry.op.module for entry in kernels}
    counts = {"module": modules, "op": ops, "kernel": kernels}
    console.print("\n" + ", ".join(pluralize(len(found), noun) for noun, found in counts.items()))
    return 0


def _print_launches(capture: Capture) -> None:
    """Print a line for each launch of a capture. Needs neither the project nor a compiler."""
    rows: list[list[Cell]] = []
    for each in capture.launches:
        size = sum(part.size for part in each.allocations)
        kept = f" of {size / 1024:,.0f}" if size != each.nbytes else ""
        memory = f"{each.nbytes / 1024:,.0f}{kept} KiB in {pluralize(len(each.allocations), 'allocation')}"
        rows.append(
            [
                str(each.number),
                Text(source_name(each.kernel), "bold"),
                str(Grid(each.grid, each.block, each.shared)),
                pluralize(len(each.parameters), "argument"),
                memory,
                pluralize(len(each.variables), "variable") if each.variables else "",
                Text((*each.frames, "")[0], "dim"),
            ]
        )
    console = output()
    console.print(coloured((), rows, right=(0,)))
    console.print()
    for process in capture.processes:
        console.print(f"{process.program}: {process.device}, sm_{''.join(map(str, process.compute))}")
    kernels = {each.kernel for each in capture.launches}
    console.print(f"{pluralize(len(kernels), 'kernel')}, {len(capture.launches)} launches")
    for line in skipped_lines(capture):
        console.print(line, style="yellow")


def _table(entries: Iterable[Entry]) -> Text:
    ops: dict[str, list[Entry]] = {}
    for entry in entries:
        ops.setdefault(entry.op.name, []).append(entry)
    rows: list[list[Cell]] = []
    for name, each in ops.items():
        kernel = "a library" if each[0].op.library else each[0].op.pattern
        dtypes = _dtypes([entry.dtypes for entry in each])
        rows.append([Text(name, "bold"), f"{len(each)} x", kernel, Text(dtypes, "cyan")])
    return coloured((), rows, right=(1,))


def _dtypes(combinations: Sequence[tuple[str, ...]]) -> str:
    """``f32 f64``, or ``u8,{f32 f64}`` where an op has two dtypes."""
    heads: dict[tuple[str, ...], list[str]] = {}
    for dtypes in combinations:
        heads.setdefault(dtypes[:-1], []).append(dtypes[-1])
    each = ((head, " ".join(last)) for head, last in heads.items())
    return " ".join(",".join([*head, f"{{{last}}}"]) if head else last for head, last in each)


def _print_cases(suite: Suite, selection: Selection, examples: int, seed: int) -> None:
    tasks = make_tasks(selection, ())
    plan = Plan.of(suite, tasks, {}, examples=examples, seed=seed)
    console = output()
    for task in tasks:
        about = suite.op(task.op).divergences(task.dtypes)
        for title, case in plan.draw(suite, task, sparse=True):
            text = Text(case)
            if title:
                text.append(f"  # {title}{f' ({about[case]})' if case in about else ''}", "dim")
            console.print(text)
