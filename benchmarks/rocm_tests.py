"""Runs AMD's own tests of its libraries, from Debian's packages, on emulated GPUs.

    nox -s amd-libraries -- [PROGRAM...] [--target T] [--seconds N]

``rocm_tests.csv`` lists programs. The programs of hipCUB and rocPRIM are those whose names have the smallest SHA-256
digests, and so are the given number of tests of each program that uses GoogleTest. A test that takes longer than
``--seconds``, together with the start of its process, counts as too slow. MIOpenDriver verifies one function per call.
A finding is a test in which parity reports a fault, and which passes with ``--check none``. Installs the packages that
it needs. Writes a table in Markdown.
"""

from __future__ import annotations

import argparse
import csv
import functools
import hashlib
import heapq
import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.rocm_root import HERE, install
from parity.platform.subprocesses import run

_FOLDER = Path("/usr/libexec/rocm")
_BEGUN = re.compile(r"^\[ RUN +\] (\S+)", re.MULTILINE)
_ENDED = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+)", re.MULTILINE)
_WORDS = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
_FAULT = re.compile(r"^parity: ", re.MULTILINE)
_SETTINGS = {
    "GTEST_LISTENER": "PASS_LINE_IN_LOG",  # rocBLAS and hipBLAS print only failures by default
    # Debian's MIOpen lacks the assembly sources of these solutions.
    "MIOPEN_DEBUG_CONV_IMPLICIT_GEMM": "0",
    "MIOPEN_DEBUG_CONV_WINOGRAD": "0",
}
_ROCBLAS_DATA = Path("/usr/share/librocblas5-tests/data/rocblas_gtest.data")
_ROCBLAS_HEADER, _ROCBLAS_RECORD, _ROCBLAS_CATEGORY = 592, 576, slice(128, 192)  # bytes
STATES = ("passed", "finding", "failed", "too slow", "skipped")


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
    with Path(__file__).with_suffix(".csv").open() as table:
        rows = [row for row in csv.DictReader(table) if not options.programs or row["program"] in options.programs]
    if missing := {row["package"] for row in rows if not (_FOLDER / row["package"]).exists()}:
        install(HERE, sorted(missing))
    found: dict[tuple[str, str], Tested] = {}
    for row in rows:
        tested = Tested(row["package"], row["program"], row["options"] if row["tests"] else "")
        tested = found.setdefault((tested.program, tested.options), tested)
        if row["tests"]:
            _run(tested, int(row["tests"]), options.target, options.seconds)
        else:
            _call(tested, row["options"], options.target, options.seconds)
        print(tested.program, dict(Counter(tested.states.values())), flush=True)
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(text([*found.values()], options.target, options.seconds), encoding="utf-8")
    return int(any("failed" in each.states.values() for each in found.values()))


def _command(tested: Tested, target: str) -> list[str]:
    """Return the command that runs a program in parity."""
    program = _FOLDER / tested.package / tested.program
    command = [sys.executable, "-m", "parity", "exec", "--target", target, "--check", "initialized", "--", str(program)]
    return [*command, "--data", str(_quick_tests_of_rocblas())] if tested.program == "rocblas-test" else command


def _unchecked(command: Sequence[str]) -> list[str]:
    return ["none" if word == "initialized" else word for word in command]


@functools.cache
def _quick_tests_of_rocblas() -> Path:
    """Write 2000 quick tests of rocBLAS to a file, selected by digest. Reading all 1.5 million takes a minute."""
    content = _ROCBLAS_DATA.read_bytes()
    starts = range(_ROCBLAS_HEADER, len(content), _ROCBLAS_RECORD)
    records = (content[start : start + _ROCBLAS_RECORD] for start in starts)
    quick = [each for each in records if each[_ROCBLAS_CATEGORY].startswith(b"quick\0")]
    chosen = heapq.nsmallest(2000, quick, key=lambda record: hashlib.sha256(record).digest())
    path = Path("parity-out", "rocblas.data").absolute()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content[:_ROCBLAS_HEADER] + b"".join(chosen))
    return path


def _call(tested: Tested, options: str, target: str, seconds: float) -> None:
    """Call a program that verifies its results."""
    command = [*_command(tested, target), *options.split()]
    output, late = _output(command, seconds)
    state = "too slow" if late else "passed" if _verified(output) else "failed"
    if state != "passed":
        tested.reasons[options] = f"more than {seconds:g} s" if late else _reason(output)
    if state == "failed" and _FAULT.search(output) and _verified(_output(_unchecked(command), seconds)[0]):
        state = "finding"
    tested.states[options] = state


def _verified(output: str) -> bool:
    return "verifies" in output.lower() and "FAILED" not in output and not _FAULT.search(output)


def _run(tested: Tested, count: int, target: str, seconds: float) -> None:
    """Run the selected tests of a program. After a failure or a timeout, the rest runs in a new process."""
    command = _command(tested, target)
    listing, _ = _output([*command, *tested.options.split(), "--gtest_list_tests"], None)
    left = sorted(_names(listing), key=lambda name: hashlib.sha256(name.encode()).digest())[:count]
    while left:
        output, late = _output([*command, f"--gtest_filter={':'.join(left)}"], seconds)
        states = _states(output, late, left)
        for name, state in states.items():
            if state in ("failed", "too slow"):
                tested.reasons[name] = _reason(output) if state == "failed" else f"more than {seconds:g} s"
            if state == "failed" and _FAULT.search(output):
                unchecked, _ = _output(_unchecked([*command, f"--gtest_filter={name}"]), seconds)
                states[name] = "finding" if ("OK", name) in _ENDED.findall(unchecked) else state
            print(f"  {name}: {states[name]} {tested.reasons.get(name, '')}".rstrip(), flush=True)
        tested.states.update(states)
        left = [name for name in left if name not in tested.states]


def _states(output: str, late: bool, left: Sequence[str]) -> dict[str, str]:
    """Return the states of the tests that ended, up to the first one that failed or took too long."""
    ended = {name.rstrip(","): _WORDS[state] for state, name in _ENDED.findall(output)}
    fault = _FAULT.search(output)
    begun = _BEGUN.findall(output, 0, fault.start() if fault else len(output))
    # A test may ignore that a kernel failed. What follows a failure may follow from it.
    failed = begun[-1] if fault and begun else next((name for name in ended if ended[name] == "failed"), None)
    if failed in left:
        earlier = itertools.takewhile(lambda name: name != failed, ended)
        return {**{name: ended[name] for name in earlier if name in left}, failed: "failed"}
    states = {name: ended[name] for name in left if name in ended}
    if len(states) < len(left) and not (late and states):  # a test has the whole limit if it is the first one
        current = begun[-1] if begun and begun[-1] in left else left[0]
        states[current] = "too slow" if late else "failed"
    return states


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


def _output(command: Sequence[str], seconds: float | None) -> tuple[str, bool]:
    """Run a command; return its output, and whether it took longer than the limit."""
    merged = ("sh", "-c", 'exec "$@" 2>&1', "sh", *command)
    try:
        ended = run(merged, env={**os.environ, **_SETTINGS}, seconds=seconds)
    except subprocess.TimeoutExpired as error:
        return str(error.output), True
    return ended.stdout, False


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
