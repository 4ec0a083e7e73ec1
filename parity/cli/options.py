"""Options that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from parity.application import EXAMPLES
from parity.cli.terminal import errors
from parity.dtypes import dtype
from parity.suite import LAUNCHES, Selection, Suite, find_suite
from parity.toolchain import HIPIFIERS, HIPIFY, TOOLCHAINS, VARIABLE

__all__ = [
    "add_drawing",
    "add_folders",
    "add_jobs",
    "add_json",
    "add_selection",
    "names",
    "positive",
    "select",
    "suite_of",
]


def names(text: str) -> list[str]:
    """The names in a list that is separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def positive(text: str) -> int:
    """A number of at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return number


def add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "selectors",
        nargs="*",
        metavar="SELECTOR",
        help="a module, an op, a kernel, a pattern of these such as 'unary.*', or a case as printed; default: all",
    )
    parser.add_argument(
        "--dtype", type=names, action="extend", default=[], metavar="D,..", help="only kernels with one of these dtypes"
    )


def add_folders(parser: argparse.ArgumentParser, *, cases: Sequence[str] = ("--cases", "--cases-dir")) -> None:
    parser.add_argument(
        "--kernels", "--kernels-dir", dest="kernels_dir", type=Path, metavar="DIR", help="folder of the .cu files"
    )
    parser.add_argument(
        "--hip",
        dest="hip_dir",
        type=Path,
        metavar="DIR",
        help="folder of AMD's sources, if they are not to be hipified",
    )
    parser.add_argument(*cases, dest="cases_dir", type=Path, metavar="DIR", help="folder of the case files")
    parser.add_argument(
        "--toolchain",
        choices=TOOLCHAINS,
        help=f"what compiles for AMD targets: an installed ROCm, the wheels, or (auto, the default, or ${VARIABLE}) a "
        "ROCm of version 6 or newer if there is one, else the wheels",
    )
    parser.add_argument(
        "--hipify",
        choices=HIPIFIERS,
        help=f"what makes HIP of CUDA sources: name by name (literal, the default, or ${HIPIFY}), with 32 lanes "
        "spelled out where CUDA means them (helpful), or a tool of an installed ROCm",
    )


def add_drawing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--examples",
        type=positive,
        default=EXAMPLES,
        metavar="N",
        help=f"cases to draw per kernel, beside the named ones (default: {EXAMPLES})",
    )
    parser.add_argument(
        "--launches",
        choices=LAUNCHES,
        help="any: launches other than the host's own, too (the default); host: the op's own launch rule only. Set "
        "for good by launches of [tool.parity]",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the same seed draws the same cases everywhere (default: 0)"
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-j", "--jobs", type=positive, metavar="N", help="processes (default: one per processor)")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else, on standard output")


def suite_of(arguments: argparse.Namespace) -> Suite:
    """The suite that the options name. What in it cannot be used is said, and remembered for the exit code."""
    suite = find_suite(
        kernels=arguments.kernels_dir,
        cases=arguments.cases_dir,
        known=getattr(arguments, "known_issues", None),
        hip=arguments.hip_dir,
        launches=getattr(arguments, "launches", None),
    )
    arguments.problems = suite.problems
    for problem in suite.problems:
        errors().print(f"parity: {problem}", style="yellow")
    return suite


def select(arguments: argparse.Namespace) -> tuple[Suite, Selection]:
    """The suite, and what the selectors and dtypes name in it.

    Raises:
        UsageError: an unknown dtype, op or kernel, or a malformed case.
    """
    for name in arguments.dtype:
        dtype(name)
    suite = suite_of(arguments)
    return suite, suite.select(arguments.selectors, arguments.dtype)
