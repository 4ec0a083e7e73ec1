"""Commands in a supervised child process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit, os, signal, sys, threading, time
from parity.platform import supervision
from parity.platform.supervision import run_supervised
{setting}

def command():
    {body}

sys.exit(run_supervised(command))
"""
UNBLOCK = "signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])"
# Many short waits: a signal that arrives just before one wait only takes effect after it.
WAIT = f"{UNBLOCK}; print('waiting', os.getpid(), flush=True); [time.sleep(0.05) for _ in range(1200)]"


def started(body, setting=""):
    command = [sys.executable, "-c", PROGRAM.format(body=body, setting=setting)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("return 0", 0, ""),
        ("return 3", 3, ""),
        ("atexit.register(os._exit, 0); return 1", 1, ""),
        ("threading.Thread(target=threading.Event().wait).start(); return 1", 1, ""),
        ("signal.raise_signal(signal.SIGSTOP); return 1", 1, ""),
        ("threading.Thread = None; return 1", 1, ""),
        ("os._exit(0)", 2, "parity: the process was ended with exit code 0 before it had a result"),
        ("os._exit(1)", 2, "parity: the process was ended with exit code 1 before it had a result"),
        ("os.execv('/bin/true', ['true'])", 2, "parity: the process was ended with exit code 0 before it had a result"),
        ("os.kill(os.getpid(), 9)", 3, "parity: the process was ended by SIGKILL before it had a result"),
    ],
    ids=[
        "returns-0",
        "returns-3",
        "atexit",
        "thread",
        "stops",
        "replaces-thread",
        "exits-0",
        "exits-1",
        "replaced",
        "killed",
    ],
)
def test_run_supervised_believes_only_returned_code(body, code, message):
    process = started(body, "supervision.LINGER = 0.1")
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.startswith(message), bool(err)) == (code, True, bool(message)), err


@pytest.mark.parametrize("closed", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_run_supervised_works_with_closed_stream(closed):
    program = PROGRAM.format(body="return 7", setting="")
    command = ["bash", "-c", f'exec {closed}>&-; exec "$0" -c "$1"', sys.executable, program]
    assert subprocess.run(command).returncode == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_supervised_forwards_signal_to_child(number):
    process = started(f"signal.signal({int(number)}, lambda *_: sys.exit('met it')); {WAIT}")
    assert process.stdout.readline().startswith("waiting")
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2 and err.startswith("met it")


def test_run_supervised_interrupts_background_job_of_a_script():
    process = started(WAIT, "signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert process.stdout.readline().startswith("waiting")
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=30)[1]


def test_run_supervised_kills_child_that_ignores_interrupt():
    process = started(f"signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAIT}", "supervision.PATIENCE = 0.1")
    assert process.stdout.readline().startswith("waiting")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3 and err.startswith("parity: the process was ended by SIGKILL")


def test_supervised_child_ends_with_killed_parent():
    process = started(WAIT)
    child = int(process.stdout.readline().split()[1])
    assert child != process.pid
    process.kill()
    process.communicate(timeout=60)  # waits until the child has closed its output, too
    assert process.returncode == -signal.SIGKILL
    assert not Path(f"/proc/{child}/fd/1").exists()


@pytest.mark.parametrize("start", ["sleep 99 & echo $!", "(setsid sleep 99 & echo $!)"], ids=["child", "daemon"])
def test_processes_of_supervised_child_end_with_it(start):
    process = started(f"os.system({start!r}); return 0")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert not Path(f"/proc/{int(out)}").exists()
