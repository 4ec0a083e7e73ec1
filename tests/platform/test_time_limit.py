"""The time limit of calls into case files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from parity.errors import UsageError
from parity.platform.time_limit import VARIABLE, TimeLimitExceeded, time_limit


def test_time_limit_interrupts_endless_loop_that_catches_exceptions(monkeypatch):
    monkeypatch.setenv(VARIABLE, "0.01")
    before = signal.getsignal(signal.SIGALRM)
    with (
        pytest.raises(TimeLimitExceeded, match=f"did not end within 0.01 s; {VARIABLE} sets another limit"),
        time_limit(),
    ):
        while True:
            try:
                threading.Event().wait(60)
            except Exception:
                continue
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)) == (before, (0.0, 0.0))


def test_time_limit_keeps_active_timer(monkeypatch):
    monkeypatch.setenv(VARIABLE, "100")
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with time_limit():
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 500
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 500
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_process_that_block_forks_ends_with_the_block():
    process = os.getpid()
    with time_limit():
        forked = os.fork()
    assert os.getpid() == process, os._exit(0)
    assert os.waitpid(forked, 0)[1] == signal.SIGKILL


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_time_limit_rejects_setting(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with (
        pytest.raises(UsageError, match=f"{VARIABLE} is '{text}'; it must be a number of seconds above 0"),
        time_limit(),
    ):
        pass


def test_end_stuck_process_ends_native_code_and_names_its_file(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from parity.platform.time_limit import *\nwith end_stuck_process():\n    sum(range(10**12))\n")
    environment = {**os.environ, VARIABLE: "0.5", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f'File "{script}", line' in done.stderr
