"""Compare two runs: which kernels and cases were added, removed, broken or mended, or use another share of the budget.

A run is what parity report takes: an output folder of parity run, a ZIP file with one, or a recording. Exit code: 0
nothing got worse; 1 something that did not fail fails now, or a kernel that passed is no longer judged; 2 what is named
is no run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from parity.application.loaded_run import LoadedRun
from parity.cli.options import add_json
from parity.cli.terminal import output, print_json
from parity.report.changes import compared
from parity.report.comparison import as_dict, markdown, terminal
from parity.report.tables import terminal_width

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("old", type=Path, metavar="OLD", help="the earlier run")
    parser.add_argument("new", type=Path, metavar="NEW", help="the later run")
    parser.add_argument("--full", action="store_true", help="list everything that changed")
    parser.add_argument("--markdown", action="store_true", help="print GitHub's Markdown")
    add_json(parser)


def main(arguments: argparse.Namespace) -> int:
    """Print what changed; 1 if something got worse."""
    found = compared(LoadedRun.read(arguments.old), LoadedRun.read(arguments.new))
    if arguments.json:
        print_json(as_dict(found))
    elif arguments.markdown:
        print(markdown(found, full=arguments.full), end="")
    else:
        output().print(terminal(found, full=arguments.full, width=terminal_width()))
    return int(found.worse)
