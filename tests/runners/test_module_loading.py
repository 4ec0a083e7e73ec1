"""A run loads a module with its first launch, and only once for all ops of the module."""

from __future__ import annotations

import ctypes
from collections import Counter

import pytest

from parity.build.modules import build
from parity.emulator import jit
from parity.engine.plan import Plan, make_tasks, runner_columns
from parity.engine.worker import Worker
from parity.runners import runner
from parity.runners.cuda import CudaDevice

OPS = ("unary.neg", "unary.abs", "unary.recip")


def worker_for(suite, name, target, session):
    """Return a worker with a session and the tasks of some ops of one module."""
    (column,) = runner_columns(runner(name), [target])
    (built,) = build(suite.kernels, ["unary"], [target])
    tasks = make_tasks(suite.select(OPS, ["f32", "f64"]), [column])
    code = {("unary", column): built.code_object}
    return Worker(Plan.of(suite, tasks, code, examples=3), suite, sessions={column: session})


def run(worker):
    """Run all tasks, require that they pass, and return the number of launches."""
    records = [record for task in worker.plan.tasks for record in worker.run(task)]
    assert {record.module for record in records if record.verdict.passed} == {"unary"}
    assert all(record.verdict.passed for record in records)
    return len(records)


def check_that_it_is_loaded_once(worker, loaded):
    launches = run(worker)
    assert len({task.op for task in worker.plan.tasks}) == len(OPS)
    assert run(worker) == launches
    assert set(loaded.values()) == {1}, "a module was loaded again"


def test_emulator_loads_module_once(suite, monkeypatch):
    loaded = Counter()

    class Library(ctypes.CDLL):
        def __init__(self, name, *more, **others):
            loaded[name] += 1
            super().__init__(name, *more, **others)

    monkeypatch.setattr(jit.ctypes, "CDLL", Library)
    session = runner("emulated").open("gfx1100")
    worker = worker_for(suite, "emulated", "gfx1100", session)
    check_that_it_is_loaded_once(worker, loaded)


def test_gpu_loads_module_once(suite, monkeypatch):
    probe = runner("cuda").probe()
    if not probe.available:
        pytest.skip(f"needs an NVIDIA GPU: {probe.reason}; {probe.install}")
    target = runner("cuda").targets()[0]
    device = CudaDevice(target, True)
    loaded, load = Counter(), device.driver.load

    def counted(code):
        loaded[code.digest] += 1
        return load(code)

    monkeypatch.setattr(device.driver, "load", counted)
    check_that_it_is_loaded_once(worker_for(suite, "cuda", target, device), loaded)
