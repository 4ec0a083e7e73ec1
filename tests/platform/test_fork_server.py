"""The fork server: inherited state of forked processes, and recovery when the server or the program ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from parity.platform import fork_server
from parity.platform.fork_server import fork_process

PATIENCE = 60.0


def tell(descriptor):
    """Send the state that a forked process finds at its start."""
    connection = Connection(descriptor)
    known = "parity.engine.worker" in sys.modules
    connection.send((os.getppid(), str(Path.cwd()), dict(os.environ), sys.path, known, os.read(0, 1)))
    print("said")
    sys.stdout.flush()


def tell_and_wait(descriptor):
    connection = Connection(descriptor)
    connection.send(os.getppid())
    with contextlib.suppress(EOFError):
        connection.recv()


def test_forked_process_inherits_environment_and_imports(tmp_path, monkeypatch, capfd):
    servers = set()
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(str(folder))
        ours, theirs = Pipe()
        process = fork_process(tell, theirs, {"PLACE": name})
        assert process.wait(PATIENCE) == process.poll() == 0
        server, *found = ours.recv()
        assert found == [str(folder), {"PLACE": name}, sys.path, True, b""]
        assert capfd.readouterr() == ("said\n", "")
        servers.add(server)
    assert len(servers) == 1


def report_preloaded(descriptor):
    connection = Connection(descriptor)
    names = ("wave", "missing_module", "json")
    connection.send([(fork_server.is_preloaded(name), name in sys.modules) for name in names])


def test_preloaded_module_is_in_processes_forked_afterwards():
    assert fork_process(print, Pipe()[0], os.environ).wait(PATIENCE) == 0  # starts the server
    fork_server.preload("missing_module")
    fork_server.preload("wave")
    ours, theirs = Pipe()
    process = fork_process(report_preloaded, theirs, os.environ)
    assert process.wait(PATIENCE) == 0
    assert ours.recv() == [(True, True), (False, False), (False, True)]
    assert not fork_server.is_preloaded("wave")


FORKS_A_SERVER = """
import os, sys, wave
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from parity.platform import fork_server


def tell(descriptor):
    files = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.exists()]
    Connection(descriptor).send(("wave" in sys.modules, __file__ in files))


sys.modules["script"], tell.__module__ = sys.modules["__main__"], "script"
with open(__file__):
    fork_server.fork_server()
ours, theirs = Pipe()
fork_server.fork_process(tell, theirs, {}).wait(60)
print(ours.recv(), fork_server._server.pid)
"""


def test_forked_server_shares_imports_and_no_files(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(FORKS_A_SERVER)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout.startswith("(True, False) "), done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout.split()[-1]), 0)


def test_killed_server_is_replaced():
    ours, theirs = Pipe()
    first = fork_process(tell_and_wait, theirs, os.environ)
    server = ours.recv()
    os.kill(server, signal.SIGKILL)
    assert first.wait(PATIENCE) is None
    second = fork_process(tell_and_wait, theirs, os.environ)
    assert ours.recv() != server
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0)
    second.kill()
    assert second.wait(PATIENCE) == -signal.SIGKILL
    ours.close()  # ends the first process


def test_fork_process_dying_servers_raise(monkeypatch):
    monkeypatch.setattr(fork_server, "_server", None)
    monkeypatch.setattr(fork_server, "_PROGRAM", "import sys; sys.exit(3)")
    with pytest.raises(OSError, match="the fork server was ended"):
        fork_process(tell, Pipe()[0], {})


def test_server_ends_with_program_despite_closed_streams(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import operator, sys\nfrom parity.engine.processes import Processes\nfrom parity.platform import fork_server\n"
        "pool = Processes(1, print)\npool.start()\n"
        "assert pool.schedule(operator.mul, [6, 7], seconds=60).result() == 42\npool.stop()\n"
        "print(fork_server._server.pid, file=sys.stderr)\n"
    )
    command = f"{sys.executable} -X dev {script} >&- 2>{tmp_path / 'said'}"
    code = subprocess.run(command, shell=True, timeout=PATIENCE, check=False).returncode
    said = (tmp_path / "said").read_text()
    assert code == 0 and said.strip().isdecimal(), said
    with pytest.raises(ProcessLookupError):
        os.kill(int(said), 0)
