"""Explain a case: its launch, buffers, layouts, inputs, expected values and the intervals that each vendor allows.

Given the id of a known divergence, explain the divergence.
"""

from __future__ import annotations

import argparse
import re

from parity.application.explanation import ELEMENTS, explanation  # noqa: F401 - options.csv names it
from parity.cli.shared.inputs import load_suite
from parity.cli.shared.terminal import output
from parity.model.divergences import divergence

_ID = re.compile(r"D\d+")


def main(arguments: argparse.Namespace) -> int:
    console = output()
    if _ID.fullmatch(arguments.case):
        known = divergence(arguments.case)
        texts = {"divergence": known.id, "what": known.topic, "CUDA": known.cuda, "AMD": known.amd}
        for label, text in (texts | {"source": known.source}).items():
            console.print(f"{label:<10} {text}")
        return 0
    for line in explanation(load_suite(arguments), arguments.case, arguments.elements):
        console.print(line)
    return 0
