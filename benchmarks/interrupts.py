"""Interrupts run, record, bench and pytest at 24 moments each: ``python -m benchmarks.interrupts [WORD...]``.

Each command runs in a project with one kernel, once undisturbed and then once for each fault and moment. A moment is
a share of the undisturbed run time, counted from when the command handles signals; before that only Python runs. The
faults are Ctrl-C, which every process of the terminal receives; SIGTERM, which a CI system sends only to the command;
SIGKILL of the command; SIGKILL of one of its processes. After each fault there must be a correct exit code, no
traceback, no process and no lock file that outlives the command, and, if cases were executed, the reports of these.
Words select commands and faults. Exit code: 0 if all of this holds, else 1.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOMENTS = 24
PATIENCE = 120.0
"""Seconds after which a command counts as hanging; undisturbed it takes a few."""

COMMANDS = {
    "run": ["-m", "parity", "run"],
    "record": ["-m", "parity", "record", "--runner", "emulated", "-o", "recording.zip"],
    "bench": ["-m", "parity", "bench", "--runner", "emulated"],
    "pytest": ["-m", "pytest", "--parity", "-n", "2", "-p", "no:cacheprovider", "--parity-output", "parity-out"],
}


@dataclass(frozen=True)
class Fault:
    """An interruption of a command, and the permitted exit codes."""

    name: str
    strike: Callable[[int], None]
    codes: dict[str, tuple[int, ...]]
    loses: bool = False
    """Whether nobody is left who could write a report."""


def _terminal(pid: int) -> None:
    os.killpg(pid, signal.SIGINT)


def _child(pid: int) -> None:
    """Kill the process that was started last."""
    if found := [each for each in _session(pid) if each != pid]:
        os.kill(max(found), signal.SIGKILL)


# pytest says 2 for a run that was interrupted, and 3 or 1 where a worker of pytest-xdist was lost.
FAULTS = (
    Fault("ctrl-c", _terminal, {"": (0, 130), "pytest": (0, 2)}),
    Fault("sigterm", lambda pid: os.kill(pid, signal.SIGTERM), {"": (0, 143), "pytest": (0, 143)}),
    Fault("kill", lambda pid: os.kill(pid, signal.SIGKILL), {"": (0, -9)}, loses=True),
    Fault("kill-child", _child, {"": (0, 3), "pytest": (0, 1, 3)}),
)


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (None if it hung), what it said, and what was left behind."""

    code: int | None
    text: str
    left: tuple[str, ...]
    seconds: float


def run(command: str, folder: Path, fault: Fault | None = None, after: float = 0.0) -> Ended:
    """Run a command in a folder; the fault strikes after so many seconds."""
    scratch = folder / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONFAULTHANDLER": "1"}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, *COMMANDS[command]], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
        try:
            _listening(process)
            start = time.perf_counter()
            if fault:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(after)
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        fault.strike(process.pid)
            code: int | None = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.perf_counter() - start
        left = tuple(_left(process.pid, scratch)) if code is not None else ()
        for pid in _session(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        said.seek(0)
        return Ended(code, said.read().decode(errors="replace"), left, seconds)


def _listening(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process or its child handles SIGTERM, as a command of parity does first of all."""
    while process.poll() is None:
        for pid in _session(process.pid):
            with suppress(OSError):
                caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
                if caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1:
                    return
        time.sleep(0.005)


def _left(session: int, scratch: Path) -> Iterator[str]:
    """The processes that are still there when they had time to end, and the lock files."""
    end = time.monotonic() + 10
    while (found := _session(session)) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in found:
        with suppress(OSError):
            yield Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    yield from (path.name for path in scratch.glob("parity-*"))


def _session(session: int) -> list[int]:
    """The processes of a session that run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            state, _, _, sid = path.read_text().rpartition(")")[2].split()[:4]
            if int(sid) == session and state != "Z":
                found.append(int(path.parent.name))
    return found


def complaints(command: str, fault: Fault, ended: Ended, folder: Path) -> Iterator[str]:
    """What is wrong with the way in which a command ended."""
    if ended.code is None:
        yield f"no end within {PATIENCE:g} s"
        return
    codes = fault.codes.get(command, fault.codes[""])
    if ended.code not in codes:
        yield f"exit code {ended.code}, not {' or '.join(map(str, codes))}"
    if re.search(r"^\s*Traceback |Fatal Python error|Exception ignored", ended.text, re.MULTILINE):
        yield "a traceback"
    yield from (f"left behind: {each}" for each in ended.left)
    executed = folder / "parity-out" / "record.jsonl"
    if executed.is_file() and not fault.loses and not (folder / "parity-out" / "matrix.txt").is_file():
        yield "cases were executed, and there is no matrix"


def project(folder: Path) -> None:
    """A project of one kernel."""
    subprocess.run([sys.executable, "-m", "parity", "init", str(folder)], check=True, stdout=subprocess.DEVNULL)


def main(words: list[str]) -> int:
    """Strike every command with every fault at every moment."""
    wrong = total = 0
    for command in [each for each in COMMANDS if each in words] or COMMANDS:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "mine")
            project(folder)
            run(command, folder)  # fills the cache
            usual = run(command, folder)
            if usual.code:
                print(f"{command}: exit code {usual.code} without any fault\n{usual.text}")
                return 1
            for fault in [each for each in FAULTS if each.name in words] or FAULTS:
                found = []
                for moment in range(MOMENTS):
                    for report in (folder / "parity-out").glob("*"):
                        report.unlink()
                    after = usual.seconds * (moment + 0.5) / MOMENTS
                    ended = run(command, folder, fault, after)
                    found += [
                        f"  at {after:.2f} s: {text}\n{ended.text}"
                        for text in complaints(command, fault, ended, folder)
                    ]
                    total += 1
                wrong += len(found)
                print(f"{command}, {fault.name} at {MOMENTS} moments of {usual.seconds:.1f} s: {len(found)} wrong")
                print("\n".join(found), end="\n" * bool(found), flush=True)
            again = run(command, folder)
            if again.code:
                wrong += 1
                print(f"{command}: exit code {again.code} after all faults\n{again.text}")
    print(f"{total} faults, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
