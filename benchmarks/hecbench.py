"""Builds and runs programs of HeCBench, a public collection of benchmarks, on emulated GPUs.

    git clone https://github.com/zjin-lcf/HeCBench && git -C HeCBench checkout f27000a5
    python -m benchmarks.rocm_root python -m benchmarks.hecbench HeCBench [NAME...] [--seconds N]

``hecbench.csv`` lists 40 programs, which were selected before any was tried. A program qualifies if it has a HIP and a
CUDA version that need nothing but a compiler and rocPRIM, if it prints a verdict, and if it takes only numbers. The
selection consists of the 40 names with the smallest SHA-256 digests. The table also has smaller arguments and
constants, and options of ``parity exec`` for a program in which parity finds a fault. Writes a table in Markdown.
"""

from __future__ import annotations

import argparse
import csv
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity.platform.subprocesses import run

TARGET = "gfx90a"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the programs; 1 if one does not pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, help="a checkout of HeCBench")
    parser.add_argument("names", nargs="*", help="names of programs (default: all)")
    parser.add_argument("--seconds", type=float, default=150, help="limit of a program")
    parser.add_argument("--output", type=Path, default=Path("parity-out/hecbench"), help="folder of builds and outputs")
    options = parser.parse_args(arguments)
    results = {}
    with Path(__file__).with_suffix(".csv").open() as table:
        rows = [row for row in csv.DictReader(table) if not options.names or row["name"] in options.names]
    for row in rows:
        folder = _built(row, options.sources.absolute() / "src", options.output.absolute())
        start = time.monotonic()
        state = _run(row, folder, options.seconds) if folder else "does not build"
        results[row["name"]] = f"{state}, {time.monotonic() - start:.0f} s" if folder else state
        print(row["name"], results[row["name"]], flush=True)
        (options.output / "table.md").write_text(text(rows, results), encoding="utf-8")
    return int(any(not state.startswith("passed") for state in results.values()))


def _built(row: Mapping[str, str], sources: Path, output: Path) -> Path | None:
    """Copy a program, edit and build it; return its folder. A program that is built already stays as it is."""
    folder = output / f"{row['name']}-hip"
    if (folder / "main").exists():
        return folder
    for kind in ("hip", "cuda"):
        shutil.copytree(sources / f"{row['name']}-{kind}", output / f"{row['name']}-{kind}", dirs_exist_ok=True)
    for edit in filter(None, row["edits"].split(" && ")):
        file, old, new = edit.split("|")
        content = (folder / file).read_text()
        assert old in content, f"{row['name']}: {file} does not contain {old!r}"
        (folder / file).write_text(content.replace(old, new))
    named = re.search(r"--target (\w+)", row["options"])
    flags = f"--offload-arch={named[1] if named else TARGET} -gline-tables-only -w"
    made = subprocess.run(["make", "main", "CC=hipcc", f"EXTRA_CFLAGS={flags}"], cwd=folder, capture_output=True)
    (folder / "build.log").write_bytes(made.stdout + made.stderr)
    return None if made.returncode else folder


def _run(row: Mapping[str, str], folder: Path, seconds: float) -> str:
    """Run a program; return what became of it."""
    options = shlex.split(row["options"])
    options = options if "--target" in options else ["--target", TARGET, *options]
    command = [sys.executable, "-m", "parity", "exec", *options, "--", "./main", *row["arguments"].split()]
    try:
        ended = run(command, cwd=folder, seconds=seconds)
    except subprocess.TimeoutExpired as error:
        (folder / "output.txt").write_text(f"{error.output}{error.stderr}")
        return "too slow"
    output = ended.stdout + ended.stderr
    (folder / "output.txt").write_text(output)
    found = next((line for line in output.splitlines() if line.startswith("parity: ")), "")
    if ended.returncode or found or re.search(r"\bfail", output, re.IGNORECASE):
        return f"failed ({found.removeprefix('parity: ')[:120] or f'exit status {ended.returncode}'})"
    return "passed" if re.search(r"\bpass", output, re.IGNORECASE) else "passed (prints no verdict)"


def text(rows: Sequence[Mapping[str, str]], results: Mapping[str, str]) -> str:
    """Return the table, and how many programs passed."""
    count = Counter(state.split(",")[0].split(" (")[0] for state in results.values())
    lines = [", ".join(f"{n} {state}" for state, n in count.most_common()) + f", of {len(results)} programs.", ""]
    lines += ["| program | arguments | options | result | finding |", "| --- | --- | --- | --- | --- |"]
    for row in (row for row in rows if row["name"] in results):
        arguments = row["arguments"] + (" (constants reduced)" if row["edits"] else "")
        lines.append(f"| {row['name']} | {arguments} | {row['options']} | {results[row['name']]} | {row['finding']} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
