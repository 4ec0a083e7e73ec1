"""Explain a case: its launch, buffers, layouts, inputs, expected values and the intervals that each vendor allows.

Given the id of a known divergence, explain the divergence.

--bisect finds out why a case fails or differs: it rebuilds the kernel with one compiler option changed at a time. The
options: contraction, fast math, subnormal numbers, precise division and square root, unsafe atomics, another version
of AMD's headers, the helpful translation, the wavefront size, and -O0 to -O3. The case is executed on the CPU with each
of them. The first sentence names the option that makes the failure, or the difference between CUDA and AMD,
disappear. It also names the source line whose instructions change, and the cost in executed instructions. For a case
that passes, it names an option that makes the case fail: -O0 reveals a race that optimization hides. The table has one
row for each option. No two options are changed at once.

Exit code with --bisect: 0 an option was found, or nothing fails or differs; 1 no option makes the failure disappear; 2
wrong usage; 3 the case cannot be executed or judged here; 130 interrupted.
"""

from __future__ import annotations

import argparse
import re
from functools import partial

from parity.application.bisecting import bisect, prepare_case
from parity.application.explanation import ELEMENTS, explanation  # noqa: F401 - options.csv names it
from parity.bisect.search import CaseState
from parity.cli.shared.inputs import load_suite
from parity.cli.shared.terminal import build_run, messages, output, print_json, run_progress
from parity.errors import UsageError
from parity.model.divergences import divergence
from parity.report.bisect import as_dict, sentence, terminal
from parity.report.tables import terminal_width

_ID = re.compile(r"D\d+")


def main(arguments: argparse.Namespace) -> int:
    if arguments.bisect:
        return _bisect(arguments)
    if arguments.json:
        raise UsageError("--json needs --bisect")
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


def _bisect(arguments: argparse.Namespace) -> int:
    suite, build = load_suite(arguments), partial(build_run, console=messages(arguments.json))
    options = {"runners": arguments.runner, "targets": arguments.target, "jobs": arguments.jobs}
    run = prepare_case(suite, arguments.case, **options, build=build)
    with run_progress() as (report, _):
        found = bisect(run, report)
    if arguments.json:
        print_json(as_dict(found, suite.kernels))
    else:
        console = output()
        first, _, rest = sentence(found, suite.kernels).partition("\n")
        console.print(first, style="bold")
        if rest:
            console.print(rest)
        console.print()
        console.print(terminal(found, terminal_width()))
    return 1 if found.found is None and found.state is not CaseState.SAME else 0
