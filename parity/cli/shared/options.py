"""Options that several commands share.

Options that commands and ``pytest --parity`` have in common, such as ``--target`` and ``--runner``, take their flags
and help from the table ``OPTIONS`` in ``parity/suite/options.py``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from parity.compilers.rocm import TOOLCHAINS
from parity.porting import HIPIFIERS
from parity.suite.options import EXAMPLES, declare, positive
from parity.suite.settings import LAUNCHES


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the selectors and ``--dtype``."""
    parser.add_argument(
        "selectors",
        nargs="*",
        metavar="SELECTOR",
        help="a module, an op, a kernel, a pattern such as 'unary.*', or the text of a case (default: everything)",
    )
    declare(parser.add_argument, "dtype")


def add_case(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Add the positional argument for one case; ``more`` extends its help."""
    parser.add_argument("case", metavar="CASE", help=f"the text of a case as parity prints it, in quotes{more}")


def add_target(parser: argparse.ArgumentParser, default: str) -> None:
    """Add ``--target``; ``default`` describes the targets of a command line without it."""
    declare(parser.add_argument, "target", help=f"targets to build for, separated by commas (default: {default})")


def add_folders(parser: argparse.ArgumentParser, *, cases: Sequence[str] = ()) -> None:
    """Add the options for folders, toolchain and translator; ``cases`` replaces the flags of the folder of cases."""
    declare(parser.add_argument, "kernels", dest="kernels_dir", type=Path)
    declare(parser.add_argument, "hip", dest="hip_dir", type=Path)
    declare(parser.add_argument, "cases", *cases, dest="cases_dir", type=Path)
    declare(parser.add_argument, "toolchain", choices=TOOLCHAINS, metavar=None)
    declare(parser.add_argument, "hipify", choices=HIPIFIERS, metavar=None)


def add_drawing(parser: argparse.ArgumentParser, *, examples: int | None = EXAMPLES, seed: int | None = 0) -> None:
    """Add the options that decide which cases are drawn. A default of None reveals whether the user gave the option."""
    declare(parser.add_argument, "examples", default=examples)
    declare(parser.add_argument, "launches", choices=LAUNCHES, metavar=None)
    declare(parser.add_argument, "seed", default=seed)


def add_output(parser: argparse.ArgumentParser, *flags: str, default: str = "parity-out", help: str = "") -> None:
    """Add ``--output`` for a folder."""
    text = help or "folder for everything that the command writes"
    declare(
        parser.add_argument, "output", *flags, type=Path, default=Path(default), help=f"{text} (default: {default})"
    )


def add_jobs(parser: argparse.ArgumentParser, what: str = "worker processes") -> None:
    """Add ``--jobs``."""
    parser.add_argument(
        "-j", "--jobs", type=positive, metavar="N", help=f"number of {what} (default: one per processor)"
    )


def add_full(parser: argparse.ArgumentParser, help: str = "print one line for each kernel") -> None:
    """Add ``--full``."""
    parser.add_argument("--full", action="store_true", help=help)


def add_verbosity(parser: argparse.ArgumentParser) -> None:
    """Add ``-v`` and ``-q``, which decide how much of the matrix is printed."""
    how_much = parser.add_mutually_exclusive_group()
    how_much.add_argument(
        "-v",
        "--verbose",
        action="count",
        default=0,
        help="print a line for each op, with the numbers behind each word; -vv prints a line for each kernel",
    )
    how_much.add_argument("-q", "--quiet", action="store_true", help="print only failures and totals")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print only JSON on standard output")


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run on a cluster."""
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        help="execute on the workers of a Dask cluster, given as the address of its scheduler (tls://HOST:8786), as a "
        "Dask configuration file, or as local[:N] for N processes of this machine (docs/cluster.md)",
    )
    add_insecure_cluster(parser)


def add_insecure_cluster(parser: argparse.ArgumentParser) -> None:
    """Add ``--insecure-cluster``."""
    parser.add_argument(
        "--insecure-cluster",
        action="store_true",
        help="allow a scheduler on another host without TLS, although anyone who reaches it can run code on all "
        "machines",
    )


def add_shard(parser: argparse.ArgumentParser) -> None:
    """Add the options that divide a run among independent machines."""
    parser.add_argument(
        "--shard",
        metavar="I/N",
        help="run only the I-th of N parts of the kernels; parity merge combines the results of all parts",
    )
    parser.add_argument(
        "--costs",
        type=Path,
        metavar="FILE",
        help="balance the shards by the costs in the matrix.json of an earlier run, which must be the same for all "
        "shards (default: count each kernel alike)",
    )


def add_failed(parser: argparse.ArgumentParser) -> None:
    """Add ``--failed``."""
    parser.add_argument(
        "--failed",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="RUN",
        help="run only the cases that failed in an earlier run (default: the run in the output folder)",
    )


def add_watch(parser: argparse.ArgumentParser) -> None:
    """Add ``--watch``."""
    parser.add_argument(
        "--watch",
        action="store_true",
        help="run again whenever a source, header or case file changes, for the affected kernels, until Ctrl-C",
    )


def add_history(parser: argparse.ArgumentParser) -> None:
    """Add ``--history``."""
    parser.add_argument(
        "--history",
        type=Path,
        metavar="DIR",
        help="add a summary of the run to this folder, which CI keeps between runs, and show the history in the report",
    )


def add_github(parser: argparse.ArgumentParser) -> None:
    """Add ``--github``."""
    parser.add_argument(
        "--github",
        action=argparse.BooleanOptionalAction,
        default=os.environ.get("GITHUB_ACTIONS") == "true",
        help="annotate source lines with failures and add the matrix to the job summary (default: on in GitHub "
        "Actions)",
    )
