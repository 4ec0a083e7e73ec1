"""Put the shards of a run together: one matrix and one report; or one recording.

The arguments are the output folders of parity run --shard, all of one run: then -o is a folder, which gets what one run
would have left there. Or they are the files of parity record --shard, and -o is a file. Shards that are missing, that
are there twice, or that differ in versions, sources or settings are refused by name. It has to be called in a checkout
of the commit that the shards ran, for the ops that are declared there. The exit code is that of parity run.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from parity.application import RECORD, merge, merge_recordings
from parity.cli.options import add_folders, add_json, suite_of
from parity.cli.results import exit_code, show, written
from parity.cli.terminal import output, warn
from parity.errors import UsageError, count_of
from parity.report import check_folder
from parity.suite.options import declare

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shards", nargs="+", type=Path, metavar="FOLDER|ZIP", help="what each shard left, in any order")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR|FILE", help="what to write")
    parser.add_argument("--full", action="store_true", help="print a line for every kernel")
    add_json(parser)
    add_folders(parser)
    declare(parser.add_argument, "known-issues", type=Path)


def main(arguments: argparse.Namespace) -> int:
    """Read, compare the settings, put together, report."""
    folders = [path for path in arguments.shards if path.is_dir()]
    files = [path for path in arguments.shards if path not in folders]
    if folders and files:
        raise UsageError(
            f"{folders[0]} is a folder of results and {files[0]} a file; merge the results of runs, or recordings, one "
            "kind at a time"
        )
    if files:
        if arguments.output.is_dir():
            raise UsageError(f"{arguments.output} is a folder, and recordings become one file; name it with -o")
        cases = merge_recordings(files, arguments.output)
        kernels = count_of(len({case.kernel for case in cases}), "kernel")
        size = arguments.output.stat().st_size / 1e6
        output().print(
            f"{count_of(len(cases), 'case')} of {kernels} from {len(files)} shards: {arguments.output} ({size:.2f} MB)"
        )
        return 0
    merged = merge(folders, suite_of(arguments))
    check_folder(arguments.output)
    warn(merged.known.mistakes)
    merged.write_record(arguments.output / RECORD)
    matrix = merged.matrix
    unwritten = written(arguments.output, matrix, merged.records, merged.reproduction, merged.suite)
    show(arguments, merged.suite, matrix, merged.records, merged.reproduction, unwritten)
    return exit_code(matrix, merged.known.mistakes, merged.problems, None, unwritten)
