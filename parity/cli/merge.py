"""Merge the shards of a run into one matrix and report, or into one recording.

The arguments are the output folders of parity run --shard, or the files of parity record --shard, all from one run. For
folders, -o is a folder, which receives what a single run would have written; for recordings, -o is a file. The command
refuses shards that are missing, that occur twice, or that differ in versions, sources or settings, and names them. Run
it in a checkout of the commit that the shards ran, because it loads the declared ops. The exit codes are the
same as for parity run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from parity.application.merging import merge, merge_recordings
from parity.application.stored_results import RECORD
from parity.cli.shared.inputs import load_suite
from parity.cli.shared.outputs import outcome, print_results, try_write_reports
from parity.cli.shared.terminal import output, warn
from parity.errors import UsageError, pluralize
from parity.report.folder import REPORTS, output_folder, remove_files


def main(arguments: argparse.Namespace) -> int:
    folders = [path for path in arguments.shards if path.is_dir()]
    files = [path for path in arguments.shards if path not in folders]
    if folders and files:
        raise UsageError(
            f"{folders[0]} is a folder of results and {files[0]} is a file; merge either results or recordings"
        )
    if files:
        if arguments.output.is_dir():
            raise UsageError(f"{arguments.output} is a folder, but merged recordings are one file; name a file with -o")
        cases = merge_recordings(files, arguments.output)
        kernels = pluralize(len({case.kernel for case in cases}), "kernel")
        written = f"{arguments.output} ({arguments.output.stat().st_size / 1e6:.2f} MB)"
        output().print(f"{pluralize(len(cases), 'case')} of {kernels} from {len(files)} shards: {written}")
        return 0
    with output_folder(arguments.output):
        return _merge_folders(arguments, folders)


def _merge_folders(arguments: argparse.Namespace, folders: Sequence[Path]) -> int:
    remove_files(arguments.output, *REPORTS)
    merged = merge(folders, load_suite(arguments))
    warn(*merged.known.mistakes)
    merged.write_record(arguments.output / RECORD)
    matrix = merged.matrix
    unwritten = try_write_reports(arguments.output, matrix, merged.records, merged.reproduction, merged.suite)
    mistakes = (*merged.suite.problems, *merged.known.mistakes)
    result = outcome(matrix, mistakes, merged.problems, None, unwritten)
    print_results(arguments, merged.suite, matrix, merged.records, merged.reproduction, result)
    return result.finish()
