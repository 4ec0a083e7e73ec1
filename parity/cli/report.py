"""Write report.html, the report for browsers, from earlier runs.

A run is an output folder of parity run, a ZIP file with such a folder (as CI systems store it), or a recording, which
is judged now. Several runs become one matrix with all their columns, for example the jobs of a workflow. The report
includes measurements (parity bench --save RUN/bench.json) and footprints (parity footprint --output RUN) found in the
folder of a run. Exit code: 0 written; 2 an argument is not a run.
"""

from __future__ import annotations

import argparse
import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from parity.application.loaded_run import LoadedRun
from parity.cli.shared.outputs import reproduction_command, update_history
from parity.cli.shared.parser import build_parser
from parity.cli.shared.terminal import output
from parity.errors import ParityError
from parity.report.changes import compare_runs
from parity.report.excerpts import SourceFolders
from parity.report.failures import Reproduction
from parity.report.folder import BADGE, PAGE, output_folder, write_texts
from parity.report.html.content import comparison_content, page_content
from parity.report.html.page import render_badge, render_page
from parity.suite.loading import find_suite


def main(arguments: argparse.Namespace) -> int:
    paths = arguments.runs or [Path("parity-out")]
    run = LoadedRun.joined([LoadedRun.read(path) for path in paths])
    more: dict[str, Any] = {}
    if arguments.against:
        before = LoadedRun.read(arguments.against)
        more["comparison"] = comparison_content(compare_runs(before, run), before.name)
    if arguments.history:
        more |= update_history(arguments.history, run.matrix, run.environment, run.date)
    file = arguments.output or (paths[0] if paths[0].is_dir() else Path()) / PAGE
    shown = run.shown(_reproduction(run), _sources(arguments, run), more)
    texts = {file.name: render_page(page_content(shown), f"parity report: {run.name}"), BADGE: render_badge(run.matrix)}
    with output_folder(file.parent):
        write_texts(file.parent, texts)
    output().print(f"report: {file}")
    return 0


def _sources(arguments: argparse.Namespace, run: LoadedRun) -> SourceFolders:
    """The sources of the suite here, restricted to files that are unchanged since the run; empty without a suite."""
    try:
        suite = find_suite(kernels=arguments.kernels_dir, cases=arguments.cases_dir, hip=arguments.hip_dir)
    except ParityError:
        return SourceFolders()
    return SourceFolders.of(suite, run.environment.get("sources", {}))


def _reproduction(run: LoadedRun) -> Reproduction:
    """The options of the command that made the run; the defaults if this version does not accept them."""
    given = run.environment.get("arguments", [])
    if given[:1] != ["run"]:
        return Reproduction()
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        try:
            return reproduction_command(build_parser(given).parse_args(given))
        except SystemExit:
            return Reproduction()
