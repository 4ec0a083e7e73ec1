"""Compare two runs: list kernels and cases that were added or removed, broke, were fixed, or changed otherwise.

A run is an output folder of parity run, a ZIP file with such a folder, or a recording. Exit code: 0 nothing got worse;
1 a case or kernel fails that did not fail before, or a kernel that passed is no longer judged; 2 an argument is not a
run; 3 nothing got worse, but NEW ended early, or the runs have no kernel in a common column.
"""

from __future__ import annotations

import argparse

from parity.application.loaded_run import LoadedRun
from parity.cli.shared.terminal import output, print_json
from parity.errors import NotAvailable
from parity.report.changes import compare_runs
from parity.report.comparison import as_dict, markdown, terminal
from parity.report.tables import terminal_width


def main(arguments: argparse.Namespace) -> int:
    """Print the changes; return 1 if something got worse.

    Raises:
        NotAvailable: nothing got worse, but not everything was compared.
    """
    old, new = LoadedRun.read(arguments.old), LoadedRun.read(arguments.new)
    found = compare_runs(old, new)
    if arguments.json:
        print_json(as_dict(found))
    elif arguments.markdown:
        print(markdown(found, full=arguments.full), end="")
    else:
        output().print(terminal(found, full=arguments.full, width=terminal_width()))
    if not (found.worse or found.compared):
        raise NotAvailable(f"{old.name} and {new.name} have no kernel in a common column, so nothing was compared")
    if not (found.worse or new.matrix.complete):
        raise NotAvailable(f"the run in {new.name} ended early; the same command with --resume completes it")
    return int(found.worse)
