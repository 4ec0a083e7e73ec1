"""Hipify and compile the kernels, and print what the compiler made of each module for each target."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.text import Text

from parity.cli.options import add_folders, add_jobs, add_json, names, suite_of
from parity.cli.terminal import errors, output, progress
from parity.toolchain import DEFAULT_TARGETS, Built, build, find_modules, target

__all__ = ["main", "options"]

COLUMNS = ("entries", "vgprs", "sgprs", "lds_bytes", "scratch_bytes", "spills")
HEADS = ("module", "target", "entries", "VGPRs", "SGPRs", "LDS B", "scratch B", "spills", "seconds", "")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="default: all")
    parser.add_argument(
        "--target", type=names, action="extend", metavar="T,..", help=f"default: {' '.join(DEFAULT_TARGETS)}"
    )
    add_jobs(parser)
    add_json(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Build, and print the table; 1 if something does not compile."""
    folder = suite_of(arguments).kernels
    modules = find_modules(folder, arguments.modules or None)
    targets = [target(name).name for name in dict.fromkeys(arguments.target or DEFAULT_TARGETS)]
    with progress() as bars:
        bar = bars.add_task("building", total=len(modules) * len(targets), note="")
        built = build(
            folder,
            modules,
            targets,
            jobs=arguments.jobs,
            done=lambda one: bars.update(bar, advance=1, note=f"{one.module} {one.target}"),
        )
    if arguments.json:
        print(json.dumps([_as_dict(one) for one in built], indent=1))
    else:
        output().print(_table(built))
        _print_findings(built)
    for one in built:
        if one.error:
            errors().print(str(one.error), style="red")
    return 1 if any(one.error for one in built) else 0


def _numbers(one: Built) -> list[int]:
    return [len(one.entries), *(int(getattr(one, name)) for name in COLUMNS[1:])]


def _as_dict(one: Built) -> dict[str, object]:
    return {
        "module": one.module,
        "target": one.target,
        "error": one.error.log if one.error else None,
        **dict(zip(COLUMNS, _numbers(one), strict=True)),
        "seconds": round(one.seconds, 3),
        "cached": one.cached,
        "kernels": list(one.entries),
        "hip": str(one.hip) if one.hip else None,
        "replaced": dict(one.replaced or {}),
        "unmapped": [vars(finding) for finding in one.unmapped],
        "hazards": [vars(finding) for finding in one.hazards],
    }


def _table(built: Sequence[Built]) -> Text:
    rows = [list(HEADS)]
    for one in built:
        numbers = ["" if one.error else str(number) for number in _numbers(one)]
        state = "COMPILE ERROR" if one.error else "cached" if one.cached else "compiled"
        rows.append([one.module, one.target, *numbers, f"{one.seconds:.2f}", state])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    text = Text()
    for place, row in enumerate(rows):
        cells = [c.ljust(w) if i in (0, 1, 9) else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        style = "bold" if place == 0 else "bold red" if row[-1] == "COMPILE ERROR" else ""
        text.append("  ".join(cells).rstrip(), style).append("\n")
    text.rstrip()
    return text


def _print_findings(built: Sequence[Built]) -> None:
    """What hipify left to a person, once for all targets."""
    console = output()
    for title, kind in (
        ("could not be mapped to HIP", "unmapped"),
        ("means something different on AMD GPUs", "hazards"),
    ):
        for finding in dict.fromkeys(finding for one in built for finding in getattr(one, kind)):
            console.print(f"{finding} ({title})", style="yellow")
