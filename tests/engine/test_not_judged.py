"""Problems outside the kernel give "not judged" with one reason and exit code 3, and never a failure."""

from __future__ import annotations

import errno
import functools
import json
from dataclasses import replace

import numpy as np
import pytest
from negating import NEGATING, plan_for

from parity.cli import main
from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import Column
from parity.engine.checked_case import CheckedCase, Implementation
from parity.engine.execution import execute_plan
from parity.engine.outcomes import outcome_journal, record_outcomes
from parity.engine.plan import Plan, make_tasks
from parity.engine.pool import Workers
from parity.engine.shrinking import ShrinkSettings, minimize
from parity.engine.worker import Worker
from parity.errors import ResourceExhausted
from parity.model.code_object import CodeObject, Kernel
from parity.model.launch import Fault, Outcome
from parity.platform.cache import Cache
from parity.report.failures import not_judged
from parity.runners import Evidence

LACKING = (
    NEGATING
    + '''
class Lacking(Negating):
    """Negates; of 2 to 6 elements something else than the kernel keeps it from that, and 7 it gets wrong."""
    name, wrong = "lacking", (7,)
    def meet(self, numel):
        if numel == 2: raise MemoryError(f"{numel} bytes")
        if numel == 3: raise OSError(errno.ENOSPC, "No space left on device", "/tmp/full")
        if numel == 4: os.kill(os.getpid(), signal.SIGKILL)
        if numel == 5: raise ResourceExhausted("cannot write the cache folder")
        if numel == 6: return Outcome({}, Fault("out of memory", "hipErrorOutOfMemory"))
'''
)
COLUMN = Column("lacking", "gfx1100", Evidence.NOT_RUN, "amd", "lacking")


@pytest.fixture
def lacking(suite, installed):
    """Return a plan with a case for each number of elements, on a plug-in runner."""
    installed("lacking", LACKING, lacking="Lacking")
    return functools.partial(plan_for, suite, columns=(COLUMN,))


def test_system_errors_are_not_judged_and_other_cases_are(suite, lacking):
    records = list(execute_plan(lacking(1, 2, 3, 4, 5, 6, 7, 8), suite, Workers(1)))
    found = [(record.verdict.status, record.verdict.kind) for record in records]
    assert found == [
        (Status.PASS, ""),
        (Status.NOT_JUDGED, "no memory"),
        (Status.NOT_JUDGED, "system"),
        (Status.NOT_JUDGED, "killed"),
        (Status.NOT_JUDGED, "system"),
        (Status.NOT_JUDGED, "out of memory"),
        (Status.FAIL, "value"),
        (Status.PASS, ""),
    ]
    assert not any(record.failed for record in records if record.verdict.status is Status.NOT_JUDGED)
    assert "/tmp/full: No space left on device" in records[2].verdict.detail
    assert "was ended by SIGKILL" in records[3].verdict.detail


@pytest.mark.parametrize("size", [2, 3, 4])
def test_recording_stops_on_system_error(suite, lacking, tmp_path, size):
    with outcome_journal(tmp_path / "some.partial", {}) as journal, pytest.raises(ResourceExhausted):
        list(record_outcomes(lacking(size), suite, journal, Workers(1)))


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Create a project with one kernel as the working directory; return the path of its case file."""
    assert main(["init", str(tmp_path / "mine")]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine" / "cases" / "leaky_relu.py"


def test_failing_reference_is_reported_once_with_exit_code_3(mine, capsys):
    mine.write_text(
        mine.read_text().replace("wide = x.astype", 'raise RuntimeError(f"no {x.shape}")\n    wide = x.astype')
    )
    assert main(["run", "--target", "gfx1100", "--examples", "3"]) == 3
    out, err = capsys.readouterr()
    assert err.count("the reference raised RuntimeError: no ") == 1
    assert "not judged: " in err
    assert "leaky_relu.py:11" in err
    assert "not judged" in out
    assert "FAIL" not in out
    assert "Traceback" not in out + err
    assert (mine.parents[1] / "parity-out" / "failures.txt").read_text().count("the reference raised") == 1
    assert '<error message="NOT JUDGED' in (mine.parents[1] / "parity-out" / "junit.xml").read_text()
    cell = json.loads((mine.parents[1] / "parity-out" / "matrix.json").read_text())["kernels"][0]["cells"][0]
    assert (cell["state"], cell["run"], cell["failed"], cell["not_judged"]) == ("not judged", 0, 0, 3)


def test_bench_with_failing_reference_exits_with_3(mine, capsys):
    mine.write_text(mine.read_text().replace("wide = x.astype", 'raise RuntimeError("no")\n    wide = x.astype'))
    assert main(["bench", "--runner", "emulated", "--target", "gfx1100"]) == 3
    assert "not judged: " in capsys.readouterr().err


def test_failing_reference_and_real_failure_exit_with_1(mine, capsys):
    mine.write_text(
        mine.read_text().replace(
            "wide = x.astype", 'if x.size == 3:\n        raise RuntimeError("three")\n    wide = 2 * x.astype'
        )
    )
    cases = [f"leaky_relu.leaky_relu[f32](x={n}~normal@0 alpha=0.5)" for n in (2, 3)]
    assert main(["run", "--target", "gfx1100", *cases]) == 1
    out, err = capsys.readouterr()
    assert "1 failed, 1 not judged" in out
    assert "1 case of 1 kernel, such as leaky_relu.leaky_relu[f32](x=3~normal@0 alpha=0.5): " in err


def failed(case):
    return CheckedCase(case, Verdict(Status.FAIL, "value"), "", {})


def test_failing_reference_during_shrinking_is_ignored(suite):
    op = suite.op("unary.neg")
    case = op.parse("unary.neg[f32](x=40~normal@0)")

    class Wrong:
        def execute(self, code, launch, buffers):
            if launch.args[0].value < 20:
                raise RuntimeError("what a reference may raise, too")
            return Outcome({name: buffer.data.copy() for name, buffer in buffers.items()} | {"out": buffers["x"].data})

    code = CodeObject("unary", "gfx1100", "", {"uneg_f32": Kernel("uneg_f32", (), 0, 0, 0, 0, 0, 32)}, "digest")
    small = minimize(op, failed(case), Implementation(Wrong(), "amd", code), ShrinkSettings(0, 5))
    assert small.verdict.kind == "value"
    assert 20 <= np.prod(small.case.tensors[0][1].layout.shape) <= 40


def test_shrinking_stops_at_time_limit_with_note(suite):
    op = suite.op("unary.neg")
    case = op.parse("unary.neg[f32](x=70001~normal@0)")

    class Wrong:
        launches = 0

        def execute(self, code, launch, buffers):
            self.launches += 1
            return Outcome({name: buffer.data.copy() for name, buffer in buffers.items()} | {"out": buffers["x"].data})

    code = CodeObject("unary", "gfx1100", "", {"uneg_f32": Kernel("uneg_f32", (), 0, 0, 0, 0, 0, 32)}, "digest")
    wrong = Wrong()
    small = minimize(op, failed(case), Implementation(wrong, "amd", code), ShrinkSettings(0, 5, seconds=0.0))
    assert (small.case, wrong.launches) == (case, 1)
    assert "shrinking stopped after 0 s, which is the limit" in small.verdict.detail
    in_time = minimize(op, failed(case), Implementation(wrong, "amd", code), ShrinkSettings(0, 5, seconds=3600.0))
    assert "which is the limit" not in in_time.verdict.detail


def test_unwritable_cache_is_not_judged(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceExhausted, match="PARITY_CACHE"):
        Cache(tmp_path / "file").get("0" * 64, lambda folder: None)
    assert ResourceExhausted.exit_code == 3


def test_full_disk_for_reports_still_prints_them(mine, capsys, monkeypatch):
    def full(*_):
        raise ResourceExhausted("cannot write matrix.txt: No space left on device")

    monkeypatch.setattr("parity.cli.shared.outputs.write_reports", full)
    assert main(["run", "--target", "gfx1100", "leaky_relu.leaky_relu[f32](x=2~normal@0 alpha=0.5)"]) == 3
    out, err = capsys.readouterr()
    assert "1 passed" in out
    assert "No space left on device" in err


def test_full_disk_for_record_keeps_results(mine, capsys, monkeypatch):
    def full(self, record):
        raise OSError(errno.ENOSPC, "No space left on device", "record.jsonl")

    monkeypatch.setattr("parity.application.run.RecordWriter.add", full)
    assert main(["run", "--target", "gfx1100", "leaky_relu.leaky_relu[f32](x=2~normal@0 alpha=0.5)"]) == 3
    out, err = capsys.readouterr()
    assert "interrupted: " in out
    assert "the system refuses record.jsonl: No space left on device" in err


def test_hanging_kernel_skips_remaining_cases(suite):
    class Endless:
        launches = 0

        def execute(self, code, launch, buffers):
            self.launches += 1
            return Outcome({}, Fault("no progress", "it waits"))

    def worked(selector, examples=8):
        tasks = make_tasks(suite.select([selector] if isinstance(selector, str) else selector), (COLUMN,))
        tasks = tuple(replace(task, shrink=False) for task in tasks)
        code = CodeObject("unary", "gfx1100", "", {"uneg_f32": Kernel("uneg_f32", (), 0, 0, 0, 0, 0, 32)}, "digest")
        plan = Plan.of(suite, tasks, {("unary", COLUMN): code}, examples=examples)
        session = Endless()
        worker = Worker(plan, suite, {COLUMN.spec: session}, {COLUMN: session})
        return session, [record for task in tasks for record in worker.run(task)]

    session, records = worked("uneg_f32")
    status = [record.verdict.status for record in records]
    assert session.launches == 3
    assert status == [Status.TIMEOUT] * 3 + [Status.NOT_JUDGED] * (len(records) - 3)
    assert len(records) >= 8
    (reason,) = not_judged(records)
    assert "3 earlier cases of this kernel timed out" in reason
    # Cases that are selected by their text are executed.
    session, records = worked([f"unary.neg[f32](x={n}~normal@0)" for n in range(1, 7)])
    assert session.launches == 6
