"""Explain a case: launch, buffers, layouts, input values; of each output expected values and both vendors' intervals.

The id of a known divergence is explained, too.
"""

from __future__ import annotations

import argparse
import re

from parity.application.explanation import ELEMENTS, explanation
from parity.cli.options import add_folders, positive, suite_of
from parity.cli.terminal import output
from parity.model.divergences import divergence

__all__ = ["main", "options"]

_ID = re.compile(r"D\d+")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "case", metavar="CASE", help="a case as parity prints it, in quotes; or the id of a known divergence, as D14"
    )
    parser.add_argument(
        "--elements", type=positive, default=ELEMENTS, metavar="N", help="elements to show (default: %(default)s)"
    )
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Print the explanation."""
    console = output()
    if _ID.fullmatch(arguments.case):
        known = divergence(arguments.case)
        texts = {"divergence": known.id, "what": known.topic, "CUDA": known.cuda, "AMD": known.amd}
        for label, text in (texts | {"source": known.source}).items():
            console.print(f"{label:<10} {text}")
        return 0
    for line in explanation(suite_of(arguments), arguments.case, arguments.elements):
        console.print(line)
    return 0
