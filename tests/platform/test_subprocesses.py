"""Child processes that an interrupt kills."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from parity.platform import subprocesses


def is_running(process):
    status = Path("/proc", process, "stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_killed_ends_what_a_child_process_started(tmp_path):
    """nvcc starts cicc and ptxas."""
    file = tmp_path / "process"
    script = f"sleep 600 & echo $! > {file}.new; mv {file}.new {file}; wait"
    thread = threading.Thread(target=subprocesses.run, args=(["sh", "-c", script],))
    thread.start()
    while not file.exists():
        time.sleep(0.01)
    process = file.read_text().strip()
    assert is_running(process)
    with subprocesses.killed():
        thread.join()
    while is_running(process):
        time.sleep(0.01)


def test_sigkill_ends_what_a_child_process_started(tmp_path):
    file = tmp_path / "process"
    script = f"sleep 600 & echo $! > {file}.new; mv {file}.new {file}; wait"
    program = (
        "import pathlib, threading, time; from parity.platform import subprocesses\n"
        f"threading.Thread(target=subprocesses.run, args=(['sh', '-c', {script!r}],)).start()\n"
        "while not subprocesses._running: time.sleep(0.01)\n"
        f"pathlib.Path({str(tmp_path / 'watched')!r}).touch()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as parent:
        while not (file.exists() and (tmp_path / "watched").exists()):
            assert parent.poll() is None
            time.sleep(0.01)
        parent.kill()
    while is_running(file.read_text().strip()):
        time.sleep(0.01)


def test_run_with_a_limit_kills_what_the_command_started_and_keeps_its_output(tmp_path):
    script = "sleep 600 & echo $!; echo late >&2; wait"
    with pytest.raises(subprocess.TimeoutExpired) as error:
        subprocesses.run(["sh", "-c", script], seconds=2)
    assert error.value.stderr == "late\n"
    while is_running(error.value.output.strip()):
        time.sleep(0.01)


def test_run_within_its_limit_returns_the_output():
    ended = subprocesses.run(["echo", "on time"], seconds=600)
    assert (ended.returncode, ended.stdout) == (0, "on time\n")
