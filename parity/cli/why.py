"""Tell why a case fails or differs: its kernel is built again with one knob of the compiler turned at a time.

The knobs: contraction, fast math, subnormal numbers, precise division and root, unsafe atomics, AMD's headers of
another version, the helpful translation, the width of a wavefront, -O0 to -O3. With each of them that one case is
executed on the CPU. The first sentence names the knob that makes the failure, or the difference between CUDA's and
AMD's side, go away; the source line whose instructions are others; and what that costs in executed instructions. Of a
case that passes it names the knob that makes it fail: -O0 shows a race that optimization hides. The table has a row for
each knob. No two are turned at once.

Exit code: 0 a knob was found, or nothing fails and nothing differs; 1 no knob makes it go away; 2 wrong usage; 3 the
case cannot be executed or judged here; 130 interrupted.
"""

from __future__ import annotations

import argparse

from parity.application import Run
from parity.application.bisecting import RUNNERS, bisect, prepare_case
from parity.application.run import Prepared
from parity.bisect import CaseState
from parity.cli.options import add_folders, add_jobs, add_json, add_target, suite_of
from parity.cli.terminal import built, messages, output, print_json, reporting
from parity.compilers.targets import DEFAULT_TARGETS
from parity.report.bisect import as_dict, sentence, terminal
from parity.report.tables import terminal_width
from parity.suite.options import declare

__all__ = ["main", "options"]


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("case", metavar="CASE", help="a case as parity prints it, in quotes")
    declare(
        parser.add_argument,
        "runner",
        help=f"{RUNNERS[0]} or {RUNNERS[1]} (default: {RUNNERS[0]}; both, where there is nvcc, if nothing fails or "
        "the op has no reference)",
    )
    add_target(parser, f"{' '.join(DEFAULT_TARGETS)}; one is examined, the first on which the case fails")
    add_jobs(parser)
    add_json(parser)
    add_folders(parser)


def main(arguments: argparse.Namespace) -> int:
    """Build, turn, tell."""
    suite = suite_of(arguments)

    def build(run: Run) -> Prepared:
        return built(run, messages(arguments.json))

    options = {"runners": arguments.runner, "targets": arguments.target, "jobs": arguments.jobs}
    run = prepare_case(suite, arguments.case, **options, build=build)
    with reporting() as (report, _):
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
