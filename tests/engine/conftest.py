"""Runners that are installed as a plug-in for the time of a test."""

from __future__ import annotations

import os
import textwrap

import pytest

#: A runner is wrong for the numbers of elements in ``wrong``; ``meet`` is what else happens for a number of them.
NEGATING = """
import errno, os, signal, time
from parity.errors import SystemLacks
from parity.launch import Fault, Outcome
from parity.runners import Evidence, Probe

class Negating:
    evidence, vendor, target, wrong = Evidence.NOT_RUN, "amd", "gfx1100", ()
    def probe(self): return Probe(True)
    def targets(self): return (self.target,)
    def open(self, target, *, checked=True): return self
    def prepare(self, code, kernels): pass
    def meet(self, numel): pass
    def execute(self, code, launch, buffers):
        numel, x = launch.args[0].value, buffers["x"].data
        out = x if numel in self.wrong else -x
        return self.meet(numel) or Outcome({**{n: b.data.copy() for n, b in buffers.items()}, "out": out})
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a module of runners that extend ``Negating``, where every new process finds them, by their classes."""

    def install(module: str, text: str, **runners: str) -> None:
        (tmp_path / f"{module}.py").write_text(NEGATING + textwrap.dedent(text))
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        points = "".join(f"{name} = {module}:{kind}\n" for name, kind in runners.items())
        (info / "entry_points.txt").write_text(f"[parity.runners]\n{points}")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))

    return install
