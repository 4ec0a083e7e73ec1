"""Isolation: a case that crashes or hangs its process affects only that case. Uses plug-in runners."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from negating import FRAGILE, IDLE, NEGATING, STEADY, plan_for

from parity.compare.comparison import compare
from parity.compare.verdict import Status
from parity.engine import judging, pool
from parity.engine.case_records import DECLARATION, Column
from parity.engine.execution import execute_plan
from parity.engine.outcomes import outcome_journal, record_outcomes
from parity.engine.plan import Plan, make_tasks
from parity.engine.pool import Workers
from parity.engine.record_file import RecordWriter, environment, read_record
from parity.engine.worker import Worker
from parity.runners import Evidence
from parity.suite.loading import load_suite

KERNELS = Path(__file__).parents[2] / "kernels"
PLUGIN = (
    NEGATING
    + '''
class Fragile(Negating):
    """Negates; dies of 3 elements, hangs on 4, raises on 5, is wrong for 7, loses its device on 8."""
    name, wrong = "fragile", (7,)
    def meet(self, numel):
        if numel == 3: os._exit(7)
        if numel == 4: time.sleep(3600)
        if numel == 5: raise RuntimeError("five")
        if numel == 8: return Outcome({}, Fault("cudaErrorAssert", "device-side assert triggered", lost=True))
'''
)


@pytest.fixture
def plugin(installed, monkeypatch):
    """Install the runners ``fragile``, ``steady`` and ``idle``."""
    installed("fragile", PLUGIN, fragile="Fragile", steady="Steady", idle="Idle")
    monkeypatch.setenv("PARITY_HIPIFY", "helpful")  # avoids compiling the module in this style after a failure


def test_default_jobs_is_limited_by_kernels_and_columns(suite, monkeypatch):
    monkeypatch.setattr(pool, "processors", lambda: 64)
    assert pool.default_jobs(plan_for(suite, 1, 2, 3)) == 1
    assert pool.default_jobs(plan_for(suite, 1, 2, 3, columns=(FRAGILE, STEADY))) == 2
    monkeypatch.setattr(pool, "processors", lambda: 1)
    assert pool.default_jobs(plan_for(suite, 1, 2, 3, columns=(FRAGILE, STEADY))) == 1


DEVICE = Column("gpus", "gfx1100", Evidence.HARDWARE, "amd", "gpus")


@pytest.mark.parametrize(("devices", "most", "backlog"), [(1, 16, 8), (2, 32, 8)])
def test_workers_of_gpus_start_as_work_remains(suite, installed, monkeypatch, devices, most, backlog):
    limited = f"class Gpus(Negating):\n name = 'gpus'\n def max_workers(self, targets): return 16 * {devices}"
    installed(f"gpus{devices}", NEGATING + limited, gpus="Gpus")
    monkeypatch.setattr(pool, "processors", lambda: 64)
    plan = plan_for(suite, *range(1, 51), columns=(DEVICE,))
    plan = replace(plan, tasks=plan.tasks * 700)  # 700 kernels with 50 cases each
    assert pool.default_jobs(plan) == most
    assert pool.start_rule(plan) == (backlog, pool.STARTS_AT_ONCE)
    emulated = plan_for(suite, 1, 2)
    assert pool.start_rule(emulated) == (0, None)


@pytest.mark.parametrize(
    ("targets", "visible", "expected"),
    [
        (("gfx1100", "gfx1100"), None, ["0", "1"]),
        (("gfx1100", "gfx90a", "gfx1100"), None, ["0", "2"]),
        (("gfx1100", "gfx1100"), "5,GPU-f00", ["5", "GPU-f00"]),
        (("gfx1100", "gfx90a"), None, [None]),
    ],
)
def test_each_worker_sees_one_of_several_gpus(suite, installed, monkeypatch, targets, visible, expected):
    numbered = f"class Gpus(Negating):\n name = 'gpus'\n visible = 'SEEN'\n def device_targets(self): return {targets}"
    installed(f"gpus_{'_'.join(targets)}_{bool(visible)}", NEGATING + numbered, gpus="Gpus")
    monkeypatch.setenv("SEEN", visible) if visible else monkeypatch.delenv("SEEN", raising=False)
    found = pool.gpu_environments(plan_for(suite, 1, columns=(DEVICE,)))
    assert [each.get("SEEN") for each in found] == expected
    several = (DEVICE, replace(DEVICE, target="gfx90a"))
    assert pool.gpu_environments(plan_for(suite, 1, columns=several)) == ({},)


@pytest.mark.usefixtures("plugin")
def test_crash_hang_and_exception_affect_one_case_each(suite):
    records = list(execute_plan(plan_for(suite, 1, 2, 3, 4, 5, 6, 7), suite, Workers(2)))
    status = {int(r.case.partition("x=")[2].partition("~")[0]): r.verdict.status for r in records}
    assert status == {
        1: Status.PASS,
        2: Status.PASS,
        3: Status.CRASH,
        4: Status.TIMEOUT,
        5: Status.ERROR,
        6: Status.PASS,
        7: Status.FAIL,
    }
    by_size = dict(zip(status, records, strict=True))
    assert "exit code 7" in by_size[3].verdict.detail
    assert "RuntimeError: five" in by_size[5].verdict.detail
    assert by_size[7].minimal is None  # shrinking reached a case that crashes


ENDLESS_REFERENCE = """
import itertools
import numpy as np
from parity.op import Op
from parity.reference import Expected

def reference(x):
    if x.size == 4:
        sum(itertools.repeat(0))  # native code, which no signal interrupts
    return Expected(-x)

neg = Op("unary.neg", kernel="uneg_{T}", types=("f32",), args="numel x out", inputs={"x": "T"}, reference=reference)
"""


@pytest.mark.usefixtures("plugin")
def test_endless_native_reference_is_wrong_declaration(tmp_path):
    (tmp_path / "unary.py").write_text(ENDLESS_REFERENCE)
    plan = plan_for(load_suite(KERNELS, tmp_path), 1, 4, 2, columns=(STEADY,), seconds=2.0)
    right, endless, skipped = execute_plan(plan, plan.suite(), Workers(1))
    assert right.verdict.passed
    assert endless.verdict.kind == skipped.verdict.kind == DECLARATION
    assert "such as the reference, did not end within 2 s" in endless.verdict.detail


@pytest.mark.usefixtures("plugin")
def test_crash_hang_and_exception_affect_one_recorded_case_each(suite, tmp_path):
    with outcome_journal(tmp_path / "some.partial", {}) as journal:
        cases = list(record_outcomes(plan_for(suite, 1, 3, 4, 5, 6), suite, journal, Workers(2)))
        assert list(record_outcomes(plan_for(suite, 1, 3, 4, 5, 6), suite, journal, Workers())) == cases
    faults = {int(c.case.partition("x=")[2].partition("~")[0]): c.fault for c in cases}
    assert list(faults) == [1, 3, 4, 5, 6]
    assert (faults[1], faults[6]) == (None, None)
    assert (faults[3].kind, faults[3].message) == ("crash", "the process died with exit code 7")
    assert faults[4].kind == "timeout"
    assert (faults[5].kind, faults[5].message) == ("error", "RuntimeError: five")
    assert len({c.launch for c in cases}) == 5


@pytest.mark.usefixtures("plugin")
def test_crash_on_one_column_keeps_cross_vendor_comparison(suite):
    records = list(execute_plan(plan_for(suite, 1, 3, 7, columns=(STEADY, FRAGILE)), suite, Workers(1)))
    status = [(r.runner, str(r.verdict.status), r.against and str(r.against.conclusion)) for r in records]
    assert status == [
        ("steady", "pass", None),
        ("fragile", "pass", "identical"),
        ("steady", "pass", None),
        ("fragile", "crash", "AMD is wrong"),
        ("steady", "pass", None),
        ("fragile", "fail", "AMD is wrong"),
    ]
    assert [r.against.elements for r in records if r.verdict.kind == "value"] == [7]


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("other", "compared_on"),
    [(replace(FRAGILE, target="gfx90a"), ["amd"]), (IDLE, ["amd", "amd"]), (STEADY, ["amd", "cuda"])],
    ids=["same bits", "other bits", "other vendor"],
)
def test_columns_of_a_vendor_with_same_bits_are_compared_once(suite, monkeypatch, other, compared_on):
    compared = []
    monkeypatch.setattr(
        judging, "compare", lambda *args, vendor: compared.append(vendor) or compare(*args, vendor=vendor)
    )
    plan = plan_for(suite, 6, columns=(FRAGILE, other))
    records = Worker(plan, suite).run(replace(plan.tasks[0], shrink=False))
    assert compared == compared_on
    assert [record.verdict.passed for record in records] == [True, other is not IDLE]


@pytest.mark.usefixtures("plugin")
def test_shrunk_case_is_compared_with_other_vendor(suite):
    _, failing = execute_plan(plan_for(suite, 7, columns=(STEADY, IDLE)), suite, Workers(1))
    small = failing.minimal
    assert "x=1~" in small.case
    assert (small.against.conclusion, small.against.total) == ("AMD is wrong", 1)
    assert float(small.against.value) == float(small.verdict.first.expected)


@pytest.mark.usefixtures("plugin")
def test_record_file_keeps_cross_vendor_comparison(suite, tmp_path):
    plan = plan_for(suite, 1, 7, columns=(STEADY, FRAGILE))
    records = list(execute_plan(plan, suite, Workers(1)))
    with RecordWriter(tmp_path / "record.jsonl", environment(plan)) as writer:
        for record in records:
            writer.add(record)
    back = read_record(tmp_path / "record.jsonl")
    assert list(back.records) == records
    assert back.environment["runners"] == ["steady", "fragile"]
    assert back.environment["columns"] == ["sm_90 (not run)", "gfx1100 (not run)"]


@pytest.mark.usefixtures("plugin")
def test_lost_device_is_crash_without_shrinking(suite):
    lost, after = execute_plan(plan_for(suite, 8, 9), suite, Workers(1))
    assert (lost.verdict.status, lost.verdict.kind, lost.minimal) == (Status.CRASH, "cudaErrorAssert", None)
    assert "device-side assert triggered" in lost.verdict.detail
    assert after.verdict.passed


@pytest.mark.usefixtures("plugin")
def test_interrupted_run_keeps_written_records(suite, tmp_path):
    plan = plan_for(suite, 1, 2)
    path = tmp_path / "out" / "record.jsonl"
    with pytest.raises(KeyboardInterrupt), RecordWriter(path, environment(plan, ["run"])) as writer:
        for record in execute_plan(plan, suite, Workers(1)):
            writer.add(record)
            raise KeyboardInterrupt
    back = read_record(path)
    assert not back.complete
    assert [r.case for r in back.records] == ["unary.neg[f32](x=1~normal@0)"]


@pytest.mark.usefixtures("plugin")
def test_record_file_round_trips(suite, tmp_path):
    plan = plan_for(suite, 1, 7)
    records = list(execute_plan(plan, suite, Workers(1)))
    with RecordWriter(tmp_path / "record.jsonl", environment(plan)) as writer:
        for record in records:
            writer.add(record)
    back = read_record(tmp_path / "record.jsonl")
    assert back.complete
    assert list(back.records) == records
    assert back.environment["seed"] == 0
    assert set(back.environment["versions"]) >= {"parity", "numpy", "hypothesis"}
    assert "unary.cu" in back.environment["sources"]


def test_environment_describes_devices_of_hardware_columns(suite, h200):
    columns = Column("emulated", "gfx1100"), Column("emulated", "gfx1030", Evidence.HARDWARE, spec="emulated")
    for column, devices in zip(columns, ({}, {"emulated": {"gpu": "NVIDIA H200", "driver": "580.1"}}), strict=True):
        plan = Plan.of(suite, make_tasks(suite.select(["uneg_f32"]), [column]), {}, examples=1)
        assert environment(plan)["devices"] == devices


def test_drawn_cases_do_not_depend_on_selection(suite):
    alone, whole = (
        Plan.of(suite, make_tasks(suite.select(s), []), {}, examples=10, seed=4) for s in (["ugelu_f16"], [])
    )
    (task,) = alone.tasks
    assert alone.draw(suite, task) == whole.draw(suite, next(t for t in whole.tasks if t == task))


def test_make_tasks_groups_explicit_cases_by_entry(suite):
    selection = suite.select(["uneg_f32", "unary.neg[f16](x=1~normal@0)", "unary.neg[f16](x=2~normal@0)"])
    columns = Column("emulated", "gfx1030"), Column("emulated", "gfx1100")
    tasks = make_tasks(selection, columns)
    assert [(t.dtypes, t.columns, t.cases and len(t.cases)) for t in tasks] == [
        (("f32",), columns, None),
        (("f16",), columns, 2),
    ]
