"""Write the report that a browser opens, report.html, from runs that ended before.

A run is an output folder of parity run, a ZIP file with such a folder (as CI systems keep them), or a recording, which
is judged for that. Several runs are shown as one matrix with the columns of all, such as those of the jobs of a
workflow. Measurements (parity bench --save RUN/bench.json) and footprints (parity static --output RUN) that lie beside
a run are shown with it. Exit code: 0 written; 2 what is named is no run.
"""

from __future__ import annotations

import argparse
import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from parity.application.loaded_run import LoadedRun
from parity.cli.options import add_folders, add_history, history_of
from parity.cli.run import reproduction_of
from parity.cli.terminal import output
from parity.errors import ParityError
from parity.report import Reproduction, check_folder
from parity.report.changes import compared
from parity.report.folder import BADGE, PAGE, write_texts
from parity.report.html import Sources, badge, comparison_content, content, page
from parity.suite.loading import find_suite

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help="folders, ZIP files or recordings (default: parity-out)"
    )
    parser.add_argument("--against", type=Path, metavar="RUN", help="show what has changed since this run as well")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help=f"default: {PAGE} in the first folder, else here"
    )
    add_history(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Read, join, compare, write."""
    paths = arguments.runs or [Path("parity-out")]
    run = LoadedRun.joined([LoadedRun.read(path) for path in paths])
    more: dict[str, Any] = {}
    if arguments.against:
        before = LoadedRun.read(arguments.against)
        more["comparison"] = comparison_content(compared(before, run), before.name)
    if arguments.history:
        more |= history_of(arguments.history, run.matrix, run.environment, run.date)
    file = arguments.output or (paths[0] if paths[0].is_dir() else Path()) / PAGE
    check_folder(file.parent)
    shown = run.shown(_reproduction(run), _sources(arguments, run), more)
    texts = {file.name: page(content(shown), f"parity report: {run.name}"), BADGE: badge(run.matrix)}
    write_texts(file.parent, texts)
    output().print(f"report: {file}")
    return 0


def _sources(arguments: argparse.Namespace, run: LoadedRun) -> Sources:
    """The sources that are here, of files that are as they were in the run; none, if there is no suite here."""
    try:
        suite = find_suite(kernels=arguments.kernels_dir, cases=arguments.cases_dir, hip=arguments.hip_dir)
    except ParityError:
        return Sources()
    return Sources.of(suite, run.environment.get("sources", {}))


def _reproduction(run: LoadedRun) -> Reproduction:
    """The options of the command that made the run; none, if this parity does not understand them."""
    from parity.cli import parser

    given = run.environment.get("arguments", [])
    if given[:1] != ["run"]:
        return Reproduction()
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        try:
            return reproduction_of(parser(given).parse_args(given))
        except SystemExit:
            return Reproduction()
