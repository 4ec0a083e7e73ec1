"""A device in a separate process, and launches that end the process."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from parity.errors import NotAvailable
from parity.model.code_object import CodeObject
from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Fault, Launch, Tiled
from parity.runners import isolated
from parity.runners.isolated import IsolatedSession

EXECUTOR = """
import os, sys, time
import numpy as np
from parity.model.launch import Fault, Outcome
from parity.runners.timing import Timing, Timings

class Executor:
    def __init__(self, message=""):
        if message:
            raise RuntimeError(message)

    def execute(self, code, launch, buffers):
        if launch.kernel == "die":
            print("k.cu:7: Assertion `i < n` failed", file=sys.stderr, flush=True)
            os._exit(3)
        if launch.kernel == "hang":
            while True:
                time.sleep(1)
        if launch.kernel == "raise":
            raise ValueError("a defect")
        if launch.kernel == "lose":
            return Outcome({}, Fault("cudaErrorIllegalAddress", "an illegal address", True))
        print("printed by a kernel")
        symbols = {"constants": [*launch.constants], "results": dict(launch.results)}
        return Outcome({"pid": np.array([os.getpid()]), "x": buffers["x"].data * 2, "module": code.module, **symbols})

    def version(self, what):
        return Fault("error", what) if what == "none" else (what, os.getpid())

    def time(self, code, launch, buffers, *, hot, seconds):
        self.execute(code, launch, buffers)
        timing = Timing(seconds, seconds, seconds, 0.0, buffers["x"].count)
        return Timings(timing, timing if hot else None, host=os.getpid())
"""
TABLE = "_ZN34_INTERNAL_ee0c609a_4_b_cu_2bd530e13ops5tableE"
CODE = CodeObject("module", "sm_90", f"a long listing with {TABLE}[64]", {}, "digest")


@pytest.fixture(params=["started", "forked"])
def session(tmp_path, monkeypatch, request):
    (tmp_path / "an_executor.py").write_text(EXECUTOR)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    if request.param == "forked":
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(isolated, "is_preloaded", lambda module: True)
    made = IsolatedSession("an_executor:Executor", launch_seconds=60)
    yield made
    made.close()


def launch(session, kernel="good", **variables):
    x = Buffer(dtype("bf16"), np.array([1, 2, 3], dtype("bf16").numpy))
    return session.execute(CODE, Launch(kernel, (1, 1, 1), (1, 1, 1), (), **variables), {"x": x})


def test_launches_share_a_separate_process(session):
    first, second = launch(session), launch(session)
    assert first.fault is None
    assert first.buffers["x"].astype(float).tolist() == [2, 4, 6]
    assert first.buffers["module"] == "module"
    assert first.buffers["pid"] == second.buffers["pid"] != os.getpid()


def test_variables_are_named_by_symbols_without_a_listing(session):
    named = {"constants": {"ops::table": np.zeros(4), "size": np.ones(1)}, "results": {"ops::table": "x"}}
    outcome = launch(session, **named)
    assert (outcome.buffers["constants"], outcome.buffers["results"]) == ([TABLE, "size"], {TABLE: "x"})


def test_call_returns_result_or_fault_of_executor_method(session):
    assert session.call("version", "driver") == ("driver", launch(session).buffers["pid"])
    assert session.call("version", "none") == Fault("error", "none")
    assert session.call("size").message.startswith("AttributeError: 'Executor' object has no attribute 'size'")


@pytest.mark.parametrize(
    ("kernel", "kind", "says"),
    [
        ("die", "crash", "exit code 3\nk.cu:7: Assertion `i < n` failed"),
        ("lose", "cudaErrorIllegalAddress", "an illegal address"),
    ],
)
def test_launch_that_ends_process_affects_itself_only(session, kernel, kind, says):
    before = launch(session)
    outcome = launch(session, kernel)
    assert outcome.fault.kind == kind
    assert outcome.fault.lost
    assert says in outcome.fault.message
    after = launch(session)
    assert after.fault is None
    assert after.buffers["pid"] != before.buffers["pid"]


def test_endless_launch_times_out(session):
    session._launch_seconds = 0.2
    fault = launch(session, "hang").fault
    assert (fault.kind, fault.lost) == ("timeout", True)


def test_executor_exception_is_error_and_keeps_process(session):
    before = launch(session)
    fault = launch(session, "raise").fault
    assert (fault.kind, fault.message, fault.lost) == ("error", "ValueError: a defect", False)
    assert launch(session).buffers["pid"] == before.buffers["pid"]


def test_failure_to_open_device_states_reason(session):
    broken = IsolatedSession("an_executor:Executor", ["no GPU of that kind"])
    with pytest.raises(NotAvailable, match="cannot be opened: RuntimeError: no GPU of that kind"):
        launch(broken)


def timed(session, kernel="good", **options):
    x = Tiled(dtype("f32"), np.zeros(3, np.float32), 1000)
    return session.time(CODE, Launch(kernel, (1, 1, 1), (1, 1, 1), ()), {"x": x}, **options)


def test_time_runs_in_executing_process(session):
    pid = launch(session).buffers["pid"][0]
    timings = timed(session, seconds=0.5, hot=True)
    assert (timings.cold.median, timings.cold.repetitions, timings.host) == (0.5, 1000, pid)
    assert timings.hot == timings.cold
    assert timed(session).hot is None


def test_crash_while_timing_is_fault(session):
    fault = timed(session, "die")
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.lost) == ("crash", True)
    assert "Assertion" in fault.message
    assert launch(session).fault is None


def test_executor_exception_while_timing_is_fault(session):
    assert timed(session, "raise") == Fault("error", "ValueError: a defect")
