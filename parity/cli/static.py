"""Lay side by side what kernels take on each target: registers, memory, occupancy, code; nothing is run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from parity.cli.options import add_folders, add_jobs, add_json, add_selection, names, select
from parity.cli.terminal import building, errors, output, progress
from parity.documents import json_text
from parity.errors import MissingTool
from parity.report.folder import check_folder, write_texts
from parity.report.static import as_csv, as_dict, finding_lines, markdown, terminal
from parity.static import Footprint, findings, footprints, nvdisasm
from parity.toolchain import DEFAULT_TARGETS, build_suite, nvcc, target

__all__ = ["main", "options"]

CUDA = "sm_90"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_selection(parser)
    parser.add_argument(
        "--target", type=names, action="extend", metavar="T,..", help=f"default: {CUDA} {' '.join(DEFAULT_TARGETS)}"
    )
    parser.add_argument("--full", action="store_true", help="a line per kernel and target, with instructions by class")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write static.md and static.csv there as well")
    add_jobs(parser)
    add_json(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Build, and print the table and what stands out; 1 if something does not compile."""
    suite, selection = select(arguments)
    if arguments.output:
        check_folder(arguments.output)
    kernels: dict[str, list[str]] = {}
    for entry in suite.entries_of(selection):
        if not entry.op.library:
            kernels.setdefault(entry.op.module, []).extend(entry.kernels)
    targets, notes = _targets(arguments.target)
    with building(len(kernels) * len(targets)) as done:
        built = build_suite(suite, kernels, targets, jobs=arguments.jobs, done=done)
    with progress() as bars:
        found: list[Footprint] = []
        bar = bars.add_task("reading", total=len(built), note="")
        for one in built:
            bars.update(bar, advance=1, note=f"{one.module} {one.target}")
            if one.code_object:
                names = {name: one.code_object.symbol(name) for name in kernels[one.module]}
                found += footprints(one.code_object, names.values())
                absent = [name for name, symbol in names.items() if symbol not in one.code_object.kernels]
                notes += [f"{one.module} for {one.target} has no {' '.join(absent)}"] * bool(absent)
    marked = findings(found)
    if arguments.json:
        print(json_text(as_dict(found, marked, notes), indent=1).decode())
    else:
        console = output()
        console.print(terminal(found, full=arguments.full))
        for line in finding_lines(marked):
            console.print(line, style="yellow")
        for note in notes:
            console.print(note, style="yellow")
    if arguments.output:
        write_texts(arguments.output, {"static.md": markdown(found, marked, notes), "static.csv": as_csv(found)})
    for one in built:
        if one.error:
            errors().print(str(one.error), style="red")
    return 1 if any(one.error for one in built) else 0


def _targets(asked: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The targets to build for, and what cannot be told on this machine."""
    targets = [target(name) for name in dict.fromkeys(asked or (CUDA, *DEFAULT_TARGETS))]
    notes = []
    if any(where.vendor == "cuda" for where in targets):
        try:
            nvcc()
        except MissingTool as error:
            if asked:
                raise
            notes.append(f"{CUDA} left out: {error}")
            targets = [where for where in targets if where.vendor != "cuda"]
    if cuda := [where.name for where in targets if where.vendor == "cuda"]:
        try:
            nvdisasm()
        except MissingTool as error:
            notes.append(f"no instructions by class for {' '.join(cuda)}: {error}")
    return [where.name for where in targets], notes
