"""Many generated cases over several seeds: ``python -m benchmarks.soak [ARGUMENTS OF parity run]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from parity.cli import main
from parity.suite import find_suite

SEEDS = range(1, 6)
CASES = 200_000


def soak(arguments: list[str]) -> int:
    """Run every seed, whatever the others found, and print a line for each; the worst exit code."""
    examples = -(-CASES // (len(SEEDS) * len(find_suite().entries)))
    codes, lines, total = [], [], 0
    for seed in SEEDS:
        folder = Path("parity-out", f"seed-{seed}")
        codes.append(
            main(["run", "--examples", str(examples), "--seed", str(seed), "--output", str(folder), *arguments])
        )
        if codes[-1] not in (0, 1):
            return codes[-1]
        result = json.loads((folder / "matrix.json").read_text())
        total += result["cases"]
        lines.append(
            f"seed {seed}: {result['cases']} cases, {result['failed']} failed, {result['seconds']:.0f} s, {folder}"
        )
    print("\n".join(["", *lines, f"{total} cases in all"]))
    return max(codes)


if __name__ == "__main__":
    sys.exit(soak(sys.argv[1:]))
