"""Runs AMD's own tests of its libraries, from Debian's packages, on emulated GPUs.

    nox -s amd-libraries -- [PROGRAM...] [--target T] [--seconds N]

``rocm_tests.csv`` lists programs that use GoogleTest. Of each, the given number of tests runs: those whose names have
the smallest SHA-256 digests. A test that takes longer than ``--seconds``, together with the start of its process,
counts as too slow. Writes a table in Markdown.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity.platform.subprocesses import run

_FOLDER = Path("/usr/libexec/rocm")
_ENDED = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+)", re.MULTILINE)
_WORDS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
STATES = ("passed", "failed", "too slow", "skipped")


@dataclass
class Tested:
    """A program, the state of each of its tests, and the reason of each failure."""

    package: str
    program: str
    options: str
    states: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="names of programs (default: all)")
    parser.add_argument("--target", default="gfx90a")
    parser.add_argument("--seconds", type=float, default=60, help="limit of a test")
    parser.add_argument("--output", type=Path, default=Path("parity-out/rocm-tests.md"))
    options = parser.parse_args(arguments)
    found = []
    with Path(__file__).with_suffix(".csv").open() as table:
        for row in csv.DictReader(table):
            if not options.programs or row["program"] in options.programs:
                tested = Tested(row["package"], row["program"], row["options"])
                _run(tested, int(row["tests"]), options.target, options.seconds)
                print(tested.program, dict(Counter(tested.states.values())), flush=True)
                found.append(tested)
                options.output.parent.mkdir(parents=True, exist_ok=True)
                options.output.write_text(text(found, options.target, options.seconds), encoding="utf-8")
    return int(any("failed" in each.states.values() for each in found))


def _run(tested: Tested, count: int, target: str, seconds: float) -> None:
    """Run the selected tests of a program. After a failure or a timeout, the rest runs in a new process."""
    program = _FOLDER / tested.package / tested.program
    parity = [sys.executable, "-m", "parity", "exec", "--target", target, "--check", "initialized", "--", str(program)]
    listed = run([*parity, *tested.options.split(), "--gtest_list_tests"])
    left = sorted(_names(listed.stdout), key=lambda name: hashlib.sha256(name.encode()).digest())[:count]
    while left:
        output, late = _output([*parity, f"--gtest_filter={':'.join(left)}"], seconds)
        ended = {name.rstrip(","): _WORDS[state] for state, name in _ENDED.findall(output)}
        states = {name: ended[name] for name in left if name in ended}
        failed = next((name for name in states if states[name] == "failed"), None)
        if failed is not None:  # what follows a failure may follow from it
            states = {**{name: state for name, state in states.items() if state != "failed"}, failed: "failed"}
            tested.reasons[failed] = _reason(output)
        elif len(states) < len(left) and not (late and states):  # a test has the whole limit if it is the first one
            begun = re.findall(r"^\[ RUN +\] (\S+)", output, re.MULTILINE)
            current = begun[-1] if begun and begun[-1] in left else left[0]
            states[current] = "too slow" if late else "failed"
            tested.reasons[current] = f"more than {seconds:g} s" if late else _reason(output)
        tested.states.update(states)
        left = [name for name in left if name not in tested.states]


def _names(listing: str) -> list[str]:
    """The full names in the output of ``--gtest_list_tests``."""
    names, suite = [], ""
    for line in listing.splitlines():
        name = line.split("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", name):
            suite = name
        elif suite and re.fullmatch(r"  \S+", name) and "DISABLED_" not in suite + name:
            names.append(suite + name.strip())
    return names


def _output(command: Sequence[str], seconds: float) -> tuple[str, bool]:
    """Run a command; return its output, and whether it took longer than the limit."""
    try:
        ended = run(command, seconds=seconds)
    except subprocess.TimeoutExpired as error:
        return f"{error.output}{error.stderr}", True
    return ended.stdout + ended.stderr, False


def _reason(output: str) -> str:
    """The first line that explains a failure: parity's, or the test's."""
    lines = [line for line in output.splitlines() if line.startswith("parity: ")]
    lines += [line for line in output.splitlines() if re.search(r"Failure$|Error|error", line)]
    return lines[0].removeprefix("parity: ")[:160] if lines else "ended without a message"


def text(found: Sequence[Tested], target: str, seconds: float) -> str:
    """Return the table, and the list of tests that did not pass."""
    lines = [f"Target {target}, at most {seconds:g} s for each test.", ""]
    lines += ["| package | program | " + " | ".join(STATES) + " |", "| --- | --- |" + " --- |" * len(STATES)]
    for each in found:
        count = Counter(each.states.values())
        name = f"`{each.program}` {each.options.removeprefix('--gtest_filter=')}".rstrip()
        lines.append(f"| {each.package} | {name} | " + " | ".join(str(count[state]) for state in STATES) + " |")
    lines.append("")
    lines += [f"* `{name}`: {reason}" for each in found for name, reason in each.reasons.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
