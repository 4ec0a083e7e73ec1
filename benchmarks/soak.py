"""Runs 1,000,000 cases over several seeds and the default targets: ``python -m benchmarks.soak [ARGUMENTS]``.

Every case is right, so a failure is a false alarm or a defect. Approximate instructions return what gfx1100 computes
or what AMD's manual allows, as in any run. Each seed is a separate run with its record, matrix and failures in
``parity-out/seed-N``. ``--cases N`` sets the total number, ``--seeds 4-6`` selects some of the seeds, so that several
machines can share them. Other arguments go to ``parity run``; arguments that narrow the run, such as a selector or a
target, do not change the number of cases per kernel. ``--unreferenced`` removes the references, so that AMD's side is
judged by CUDA's side on the CPU. Exit code: 0 if everything passed, 1 for a failure, otherwise the exit code of the
run that could not be executed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from parity.cli import main
from parity.compilers.targets import DEFAULT_TARGETS
from parity.suite.loading import find_suite
from parity.suite.options import positive

SEEDS = 10
CASES = 1_000_000
MOST = 100_000
"""Cases of one seed, if all seeds together are fewer than ``CASES``."""


def examples(cases: int, seeds: int) -> int:
    """Cases to draw per kernel, seed and target, in addition to the named cases, so that the total is ``cases``."""
    entries = find_suite().kernel_entries
    named = sum(len(entry.op.named_cases(entry.dtypes)) for entry in entries)
    wanted = cases / (seeds * len(DEFAULT_TARGETS))
    return max(1, -int(-(wanted - named) // len(entries)))


def span(text: str) -> range:
    """``4`` or ``4-6``, the last one included."""
    first, _, last = text.partition("-")
    found = range(positive(first), positive(last or first) + 1)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it begins; write the lower seed first")
    return found


_TAKEN_AWAY = """
import dataclasses as _dataclasses
for _name, _op in list(globals().items()):
    if isinstance(_op, Op) and not _op.library:
        globals()[_name] = _dataclasses.replace(_op, reference=None)
"""


@contextlib.contextmanager
def unreferenced() -> Iterator[None]:
    """Work in a project with the suite's ops, without their references."""
    suite = find_suite()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("pyproject.toml").write_text(f'[tool.parity]\nkernels = "{suite.kernels.absolute()}"\ncases = "cases"\n')
        Path("cases").mkdir()
        for file in suite.cases.absolute().glob("*.py"):
            Path("cases", file.name).write_text(file.read_text() + _TAKEN_AWAY)
        yield


def soak(cases: int, chosen: range | None, parent: Path, arguments: list[str]) -> int:
    """Run every chosen seed, whatever the others found, and print a line for each; the worst exit code.

    Each has a folder in ``parent``.
    """
    seeds = max(1, min(SEEDS, cases // MOST))
    count, codes, lines = str(examples(cases, seeds)), [], []
    total = failed = alone = 0
    seconds = 0.0
    for seed in chosen or range(1, seeds + 1):
        folder = parent / f"seed-{seed}"
        print(f"\nseed {seed} of {seeds}, {count} cases per kernel and the named ones", flush=True)
        codes.append(main(["run", "--examples", count, "--seed", str(seed), "--output", str(folder), *arguments]))
        if codes[-1] not in (0, 1):
            return codes[-1]
        result = json.loads((folder / "matrix.json").read_text())
        total, failed, seconds = total + result["cases"], failed + result["failed"], seconds + result["seconds"]
        with (folder / "record.jsonl").open(encoding="utf-8") as record:
            alone += sum(bool(json.loads(line).get("verdict", {}).get("drawn")) for line in record)
        lines.append(
            f"seed {seed}: {result['cases']} cases, {result['failed']} failed, {result['seconds']:.0f} s, {folder}"
        )
        print(f"{lines[-1]}; {total} cases so far", flush=True)
    print("\n".join(["", *lines]))
    print(
        f"{total} cases in all, {total / seconds:.0f} a second; {failed} failed, "
        f"{alone} of them only with results of approximate instructions that are not the nearest numbers"
    )
    return max(codes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks.soak", description=__doc__, allow_abbrev=False)
    parser.add_argument("--cases", type=positive, default=CASES, metavar="N")
    parser.add_argument("--seeds", type=span, metavar="FIRST-LAST")
    parser.add_argument("--unreferenced", action="store_true")
    options, rest = parser.parse_known_args()
    parent = Path("parity-out").absolute()
    with unreferenced() if options.unreferenced else contextlib.nullcontext():
        sys.exit(soak(options.cases, options.seeds, parent, rest))
