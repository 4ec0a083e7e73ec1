"""The runner ``emulated``: outcomes of real kernels, and faults in outcomes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from parity.build.modules import build
from parity.errors import ParityError
from parity.model.dtypes import dtype
from parity.runners import runner


@pytest.fixture(scope="module")
def session():
    return runner("emulated").open("gfx1100")


@pytest.fixture(scope="module")
def code(suite):
    return {b.module: b.code_object for b in build(suite.kernels, ["unary", "fill"], ["gfx1100"])}


def outcome(suite, session, code, text, **change):
    case = suite.parse(text)
    call = suite.entry(case).op.call(case)
    launch = replace(call.launch, **change)
    return call, session.execute(code[suite.entry(case).op.module], launch, call.buffers)


def test_execute_computes_and_keeps_inputs(suite, session, code):
    call, after = outcome(suite, session, code, "unary.neg[f32](x=3x40:1,3+2~normal@0 launch=2x33)")
    assert after.fault is None
    assert after.instructions > 0
    assert np.array_equal(after.buffers["out"].reshape(3, 40), -call.inputs["x"])
    assert after.buffers["x"].tobytes() == call.buffers["x"].data.tobytes()


def test_missing_kernel_is_fault_with_nearest_names(suite, session, code):
    fault = outcome(suite, session, code, "unary.neg[f32](x=3~normal@0)", kernel="uneg_f33")[1].fault
    assert fault.kind == "missing kernel"
    assert "uneg_f32" in fault.message


def test_launches_are_independent(suite, session, code):
    first = outcome(suite, session, code, "unary.neg[f32](x=100~normal@0)")[1]
    outcome(suite, session, code, "fill.fill[f32](out=500 value=1.0)")
    again = outcome(suite, session, code, "unary.neg[f32](x=100~normal@0)")[1]
    assert first.buffers["out"].tobytes() == again.buffers["out"].tobytes()
    assert first.instructions == again.instructions


def test_unwritten_output_keeps_poison(suite, session, code):
    call, _ = outcome(suite, session, code, "unary.neg[f32](x=100~normal@0)")
    short = (type(call.launch.args[0])(call.launch.args[0].dtype, 99), *call.launch.args[1:])
    after = outcome(suite, session, code, "unary.neg[f32](x=100~normal@0)", args=short)[1]
    assert after.buffers["out"][99:].tobytes() == call.buffers["out"].data[99:].tobytes()


def test_write_to_input_changes_it_without_fault(suite, session, code):
    call, _ = outcome(suite, session, code, "unary.neg[f32](x=100~normal@0 null-info)")
    assert not call.buffers["x"].writable
    *others, x, _ = call.launch.args
    after = outcome(suite, session, code, "unary.neg[f32](x=100~normal@0 null-info)", args=(*others, x, x))[1]
    assert after.fault is None
    assert np.array_equal(after.buffers["x"], -call.inputs["x"])


def test_read_past_buffer_end_is_fault_with_source_line(suite, session, code):
    call, _ = outcome(suite, session, code, "unary.neg[f32](x=100~normal@0 null-info)")
    long = (type(call.launch.args[0])(call.launch.args[0].dtype, 101), *call.launch.args[1:])
    fault = outcome(suite, session, code, "unary.neg[f32](x=100~normal@0 null-info)", args=long)[1].fault
    assert fault.kind == "out-of-bounds read"
    for word in ("uneg_f32", "elementwise.cuh", "lane 4", "'x'"):
        assert word in fault.message


def test_read_of_input_gap_is_never_written_read(suite, session, code):
    call, _ = outcome(suite, session, code, "unary.neg[f32](x=3:2~normal@0)")
    null = tuple(type(a)(None) if str(a) == "&info" else a for a in call.launch.args)
    fault = outcome(suite, session, code, "unary.neg[f32](x=3:2~normal@0)", args=null)[1].fault
    assert fault.kind == "never-written read"


def test_mismatched_arguments_are_refused_before_launch(suite, session, code):
    text = "unary.neg[f32](x=3~normal@0)"
    numel, rank, info, x, out = outcome(suite, session, code, text)[0].launch.args
    narrow = type(numel)(dtype("u32"), 3)
    for args, message in (
        ((narrow, rank, info, x, out), "argument 0 'numel' at byte 0 of kernel 'uneg_f32' has 8 bytes, not 4"),
        ((numel, info, rank, x, out), "argument 1 'num_dims' at byte 8 of kernel 'uneg_f32' is passed by value"),
        ((numel, rank, info, x, numel), "argument 4 'out' at byte 32 of kernel 'uneg_f32' is a pointer"),
        ((numel, rank, info, x), "takes 5 arguments, not 4: the first one missing is 'out' (8 bytes at byte 32)"),
        ((numel, rank, info, x, out, out), "takes 5 arguments, not 6"),
    ):
        after = outcome(suite, session, code, text, args=args)[1]
        assert message in after.fault.message
        assert "the op declares uneg_f32<<<" in after.fault.message
        assert after.instructions is None


def test_launch_beyond_limits_is_refused(suite, session, code):
    for change, message in (
        ({"block": (2048, 1, 1)}, "has 2048 threads per block; the limit is 1024"),
        ({"shared_bytes": 232449}, "is beyond the 232448 B that a block can have on any device"),
    ):
        after = outcome(suite, session, code, "unary.neg[f32](x=3~normal@0)", **change)[1]
        assert message in after.fault.message


def test_count_returns_instructions_by_class(suite, session, code):
    call, after = outcome(suite, session, code, "unary.neg[f32](x=4096~normal@0 null-info)")
    counts = session.count(code["unary"], call.launch, call.buffers)
    assert sum(counts.values()) == after.instructions
    assert counts["vmem load"] == counts["vmem store"]
    assert {"valu", "salu", "smem"} <= set(counts)
    text = "unary.neg[f32](x=100~normal@0 null-info)"
    long = outcome(suite, session, code, text)[0].launch.args
    bad = replace(call.launch, args=(type(long[0])(long[0].dtype, 2**40), *long[1:]))
    with pytest.raises(ParityError, match="out-of-bounds"):
        session.count(code["unary"], bad, outcome(suite, session, code, text)[0].buffers)
    assert session.count(code["unary"], call.launch, call.buffers) == counts


def test_execute_launch_that_ended_on_a_gpu_has_a_larger_budget(suite, session, code, monkeypatch):
    monkeypatch.setattr(session._device, "instruction_budget", 20)
    assert outcome(suite, session, code, "fill.fill[f32](out=500 value=1.0)")[1].fault.kind == "timeout"
    after = outcome(suite, session, code, "fill.fill[f32](out=500 value=1.0)", ended=True)[1]
    assert after.fault is None
    assert (after.buffers["out"] == 1.0).all()
    assert after.instructions > 20
