"""300,000 cases over several seeds and the default targets: ``python -m benchmarks.soak [ARGUMENTS OF parity run]``.

A seed is a run of its own, with its record, matrix and failures in ``parity-out/seed-N``. Arguments that narrow the
run, such as a selector or a target, leave the number of cases per kernel as it is. Exit code: 0 all passed, 1 a
failure, else that of the run that could not be made.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from parity.cli import main
from parity.suite import find_suite
from parity.toolchain import DEFAULT_TARGETS

SEEDS = range(1, 6)
CASES = 300_000


def examples() -> int:
    """Cases to draw per kernel, seed and target, beside the named ones, so that all together are ``CASES``."""
    entries = find_suite().kernel_entries
    named = sum(len(entry.op.named_cases(entry.dtypes)) for entry in entries)
    wanted = CASES / (len(SEEDS) * len(DEFAULT_TARGETS))
    return max(1, -int(-(wanted - named) // len(entries)))


def soak(arguments: list[str]) -> int:
    """Run every seed, whatever the others found, and print a line for each; the worst exit code."""
    count, codes, lines, total = str(examples()), [], [], 0
    for seed in SEEDS:
        folder = Path("parity-out", f"seed-{seed}")
        print(f"\nseed {seed}, {SEEDS.index(seed) + 1} of {len(SEEDS)}, {count} cases per kernel", flush=True)
        codes.append(main(["run", "--examples", count, "--seed", str(seed), "--output", str(folder), *arguments]))
        if codes[-1] not in (0, 1):
            return codes[-1]
        result = json.loads((folder / "matrix.json").read_text())
        total += result["cases"]
        lines.append(
            f"seed {seed}: {result['cases']} cases, {result['failed']} failed, {result['seconds']:.0f} s, {folder}"
        )
        print(f"{lines[-1]}; {total} cases so far", flush=True)
    print("\n".join(["", *lines, f"{total} cases in all"]))
    return max(codes)


if __name__ == "__main__":
    sys.exit(soak(sys.argv[1:]))
