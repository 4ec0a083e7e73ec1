"""Compiler processes that are killed, interrupted or out of resources."""

from __future__ import annotations

import threading

import pytest

from parity.compilers import zig
from parity.errors import ResourceExhausted
from parity.platform import subprocesses


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Return a function that replaces the compiler by a shell script."""

    def put(script):
        path = tmp_path / "zig"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(zig, "zig", lambda: path)
        return path

    return put


def test_killed_or_exhausted_compiler_is_not_a_compile_error(compiler):
    compiler("kill -9 $$")
    with pytest.raises(ResourceExhausted, match="was ended by SIGKILL"):
        zig.run(["clang"])
    compiler("echo 'LLVM ERROR: IO failure on output stream: No space left on device' >&2; exit 1")
    with pytest.raises(ResourceExhausted, match="No space left on device"):
        zig.run(["clang"])
    compiler("echo 'x.cu:1: error: no' >&2; exit 1")
    assert zig.run(["clang"]).returncode == 1


def test_interrupt_kills_compilers(compiler, tmp_path):
    compiler(f"touch {tmp_path}/started; exec sleep 3600")
    raised = []

    def compile_it():
        try:
            zig.run(["clang"])
        except ResourceExhausted as error:
            raised.append(str(error))

    thread = threading.Thread(target=compile_it)
    thread.start()
    while not (tmp_path / "started").exists():
        thread.join(0.01)
    with subprocesses.killed():
        thread.join()
        with pytest.raises(ResourceExhausted):  # processes started later are killed as well
            zig.run(["clang"])
    assert "SIGKILL" in raised[0]
    compiler("exit 0")
    assert zig.run(["clang"]).returncode == 0
