"""Worker processes: calls, crashes while starting and while working, and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from parity.engine import processes
from parity.engine.calls import CallTimeout, WorkerCrashed
from parity.engine.processes import Processes
from parity.errors import NotAvailable

PATIENCE = 60.0


def nothing(*_):
    """Do nothing, as an initializer."""


def double(number):
    return 2 * number


def refuse(text):
    raise ValueError(text)


def die(number):
    os.kill(os.getpid(), number)


def leave(code):
    os._exit(code)


def die_once(path):
    """End the first process that calls this."""
    if not path.exists():
        path.touch()
        leave(9)


@pytest.fixture
def started():
    """Return a function that starts processes; stop them after the test."""
    found = []

    def start(*arguments):
        found.append(Processes(*arguments))
        found[-1].start()
        return found[-1]

    yield start
    for each in found:
        each.stop()


def test_call_returns_value_or_raises_in_caller(started):
    pool = started(1, nothing)
    good, bad = pool.schedule(double, [21], seconds=PATIENCE), pool.schedule(refuse, ["no"], seconds=PATIENCE)
    assert good.result(PATIENCE) == 42
    with pytest.raises(ValueError, match="no"):
        bad.result(PATIENCE)


@pytest.mark.parametrize(
    ("backlog", "at_once", "waiting", "running", "proven", "expected"),
    [
        (0, None, 0, 0, 0, 6),  # all at once, without work
        (2, None, 0, 0, 0, 1),  # the first needs no work
        (2, None, 7, 0, 0, 4),  # 3 processes have 2 calls each
        (2, 3, 99, 0, 0, 3),
        (2, 3, 99, 3, 2, 5),  # only one is still starting
        (2, 3, 99, 6, 6, 6),
        (2, 3, 5, 3, 3, 3),  # too little is left for a fourth
    ],
)
def test_process_starts_only_if_enough_calls_wait(monkeypatch, backlog, at_once, waiting, running, proven, expected):
    monkeypatch.setattr(processes, "_started", lambda environments: processes._WorkerProcess(None, None))
    pool = Processes(6, nothing, (), backlog, at_once)
    for number in range(waiting):
        pool.schedule(double, [number], seconds=PATIENCE)
    found = [processes._WorkerProcess(None, None, proven=number < proven) for number in range(running)]
    pool._fill(found)
    assert len(found) == expected


def variable(name):
    return os.environ.get(name)


def test_processes_receive_environments_in_turn(started):
    pool = started(4, nothing, (), 0, None, [{"GPU": "0"}, {"GPU": "3"}])
    calls = [pool.schedule(variable, ["GPU"], seconds=PATIENCE) for _ in range(40)]
    assert {each.result(PATIENCE) for each in calls} <= {"0", "3"}


def test_additional_processes_start_while_calls_wait(started):
    pool = started(3, nothing, (), 1, 1)
    futures = [pool.schedule(double, [number], seconds=PATIENCE) for number in range(50)]
    assert [future.result(PATIENCE) for future in futures] == [2 * number for number in range(50)]


def test_crashed_or_hanging_process_affects_one_call(started):
    pool = started(1, nothing)
    calls = [(leave, 7), (die, signal.SIGKILL), (time.sleep, 3600), (double, 4)]
    futures = [pool.schedule(f, [a], seconds=0.2 if f is time.sleep else PATIENCE) for f, a in calls]
    with pytest.raises(WorkerCrashed, match="died with exit code 7") as left:
        futures[0].result(PATIENCE)
    with pytest.raises(WorkerCrashed, match="was ended by SIGKILL") as killed:
        futures[1].result(PATIENCE)
    assert (left.value.fault(1).kind, killed.value.fault(1).kind) == ("crash", "killed")
    with pytest.raises(CallTimeout):
        futures[2].result(PATIENCE)
    assert futures[3].result(PATIENCE) == 8


def test_workers_dying_at_start_raise_instead_of_hanging(started, monkeypatch):
    spawned = processes._started

    def stillborn(environments):
        each = spawned(environments)
        each.process.kill()
        return each

    monkeypatch.setattr(processes, "_started", stillborn)
    pool = started(1, nothing, [b"more than a pipe holds" * 100_000])
    with pytest.raises(NotAvailable, match=r"3 worker processes in a row died .* was ended by SIGKILL.* -j 1"):
        pool.schedule(double, [1], seconds=PATIENCE).result(PATIENCE)
    with pytest.raises(NotAvailable):  # later calls fail too
        pool.schedule(double, [1], seconds=PATIENCE).result(PATIENCE)


def test_process_without_parent_ends_silently(capfd):
    each = processes._started([{}])
    each.connection.close()  # as if this process were killed before it sends the initializer
    assert each.process.wait(PATIENCE) == 0
    assert capfd.readouterr() == ("", "")


def test_program_without_main_guard_runs_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import operator\nfrom parity.engine.processes import Processes\nprint('here')\npool = Processes(2, print)\n"
        "pool.start()\nprint(pool.schedule(operator.mul, [6, 7], seconds=60).result())\npool.stop()\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stderr, done.stdout.split()) == ("", ["here", "42"])


def test_process_dying_at_start_is_replaced(started, tmp_path):
    pool = started(1, die_once, [tmp_path / "first"])
    assert pool.schedule(double, [3], seconds=PATIENCE).result(PATIENCE) == 6


def test_initializer_error_fails_every_call(started):
    pool = started(2, refuse, ["not today"])
    with pytest.raises(ValueError, match="not today"):
        pool.schedule(double, [1], seconds=PATIENCE).result(PATIENCE)


def test_system_without_processes_raises_not_available(started, monkeypatch):
    def full(environments):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(processes, "_started", full)
    with pytest.raises(NotAvailable, match="cannot be started: Resource temporarily unavailable"):
        started(2, nothing).schedule(double, [1], seconds=PATIENCE).result(PATIENCE)


def test_workers_ignore_terminal_signals(started):
    pool = started(1, nothing)
    pid = pool.schedule(os.getpid, [], seconds=PATIENCE).result(PATIENCE)
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGTERM)
    assert pool.schedule(os.getpid, [], seconds=PATIENCE).result(PATIENCE) == pid
