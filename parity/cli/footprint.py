"""Compare the static properties of kernels across targets: registers, memory, occupancy and code size."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from parity.application.footprints import Inspected, Inspection
from parity.application.loaded_run import FOOTPRINTS
from parity.cli.shared.inputs import select
from parity.cli.shared.terminal import errors, output, print_json, progress
from parity.platform.serialization import json_text
from parity.report.folder import output_folder, write_texts
from parity.report.footprints import as_csv, as_dict, markdown, remark_lines, terminal


def main(arguments: argparse.Namespace) -> int:
    """Build and print; return 1 if a module does not compile."""
    with output_folder(arguments.output) if arguments.output else nullcontext():
        return _main(arguments)


def _main(arguments: argparse.Namespace) -> int:
    suite, selection = select(arguments)
    found = _inspected(Inspection.of(suite, selection, arguments.target, jobs=arguments.jobs))
    marked = found.remarks
    if arguments.json:
        print_json(as_dict(found.footprints, marked, found.notes))
    else:
        console = output()
        console.print(terminal(found.footprints, full=arguments.full))
        for line in (*remark_lines(marked), *found.notes):
            console.print(line, style="yellow")
    if arguments.output:
        texts = {
            "static.md": markdown(found.footprints, marked, found.notes),
            "static.csv": as_csv(found.footprints),
            FOOTPRINTS: json_text(as_dict(found.footprints, marked, found.notes)).decode() + "\n",
        }
        write_texts(arguments.output, texts)
    for one in found.built:
        if one.error:
            errors().print(str(one.error), style="red")
    return 1 if any(one.error for one in found.built) else 0


def _inspected(inspection: Inspection) -> Inspected:
    total = len(inspection.kernels) * len(inspection.targets)
    with progress() as bars:
        building, reading = (bars.add_task(what, total=total, note="") for what in ("building", "reading"))
        return inspection.inspect(
            lambda built: bars.update(building, advance=1, note=f"{built.module} {built.target}"),
            lambda built: bars.update(reading, advance=1, note=f"{built.module} {built.target}"),
        )
