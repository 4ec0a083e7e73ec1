"""Record the kernel launches of a program on an NVIDIA GPU, with the memory that they reach, before and after.

    parity capture -o app.capture -- ./app --size 1024
    parity list --captured app.capture
    parity run --captured app.capture          # on a machine with or without a GPU

The program needs no change, and may use any CUDA runtime, PyTorch, CuPy or Triton. Launches within CUDA graphs are
counted and not recorded. Exit code: 0 something was recorded, whatever the program returned; 2 wrong usage; 3 CUPTI or
the compiler is missing, or no launch was recorded.
"""

from __future__ import annotations

import argparse

from parity.captures.file import Capture
from parity.captures.injection import Limits, capture_program, recover
from parity.cli.shared.terminal import errors, warn
from parity.errors import NotAvailable, UsageError, first_names, pluralize
from parity.model.code_object import source_name, unqualified


def main(arguments: argparse.Namespace) -> int:
    """Run the program, or recover a capture.

    Raises:
        NotAvailable: no launch was recorded.
    """
    if bool(arguments.program) == bool(arguments.recover):
        raise UsageError("name a program after --, as in parity capture -o app.capture -- ./app")
    if arguments.recover:
        found, status = recover(arguments.recover, arguments.output), 0
    else:
        sizes = {"bytes": arguments.max_bytes, "allocation": arguments.max_allocation}
        counts = {"launches": arguments.launches_per_shape, "shapes": arguments.shapes}
        limits = Limits(**counts, **sizes, kernel=arguments.kernel or "")
        found, status = capture_program(arguments.program, arguments.output, limits)
    if status:
        warn(f"the program ended with {f'signal {-status}' if status < 0 else f'exit status {status}'}")
    warn(*skipped_lines(found))
    kernels = {launch.kernel for launch in found.launches}
    size = sum(launch.nbytes for launch in found.launches) / 2**20
    stored = arguments.output.stat().st_size / 2**20
    counted = f"{len(found.launches)} launches of {pluralize(len(kernels), 'kernel')}"
    errors().print(f"wrote {arguments.output}: {counted}, {size:.1f} MiB of memory in {stored:.1f} MiB")
    if not found.launches:
        raise NotAvailable("no launch was recorded: the program launched no kernel, or a message above says why")
    return 0


def skipped_lines(capture: Capture) -> list[str]:
    """Return a line for each reason why launches were not recorded, with the names of the kernels."""
    reasons: dict[str, dict[str, int]] = {}
    for each in capture.skipped:
        names = reasons.setdefault(each.reason, {})
        name = unqualified(source_name(each.kernel))
        names[name] = names.get(name, 0) + each.count
    return [
        f"{sum(names.values())} launches were not recorded ({reason}): {first_names(list(names), 6, ', ')}"
        for reason, names in reasons.items()
    ]
