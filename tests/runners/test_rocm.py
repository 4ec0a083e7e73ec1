"""The runner ``rocm``: the real hip-python with a libamdhip64 that runs kernels in the emulator."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from marks import thorough

from parity.build.modules import build
from parity.data.sampling import sample
from parity.engine.plan import Plan, make_tasks, runner_columns
from parity.errors import NotAvailable
from parity.hip.library import environment
from parity.model.dtypes import dtype
from parity.model.launch import Buffer, Launch, Pointer, Scalar, Tiled
from parity.platform.installation import install_command
from parity.runners import Evidence, Runner, available, rocm, runner
from parity.runners.isolated import IsolatedSession
from parity.runners.timing import Timings
from parity.suite.loading import find_suite

needs_hip = pytest.mark.skipif(
    importlib.util.find_spec("hip") is None, reason=f"needs hip-python; install it with: {install_command('rocm')}"
)

SUCCESS = SimpleNamespace(value=0)
DECLARED = Path(__file__).parents[1] / "foreign" / "declared"
KERNELS = """
extern "C" __global__ void fill(unsigned n, float* out) {
    if (threadIdx.x < n) out[threadIdx.x] = 1.0f;
}
extern "C" __global__ void wild(unsigned n, float* out) { *(float*)(n * 16ull) = 1.0f; }
"""


@pytest.fixture
def emulated(monkeypatch):
    """Set the environment of a machine with emulated GPUs. Only child processes load HIP."""

    def do(*targets, **more):
        for name, value in environment(targets or ("gfx1100",), **more).items():
            monkeypatch.setenv(name, value)

    return do


@pytest.fixture
def opened(emulated):
    """Open a session on such a machine, optionally with planted faults or little memory."""
    sessions = []

    def do(target="gfx1100", **more):
        emulated(target, **more)
        sessions.append(IsolatedSession("parity.runners.rocm:RocmDevice", (target, True)))
        return sessions[-1]

    yield do
    for session in sessions:
        session.close()


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "some.cu").write_text(KERNELS)
    (built,) = build(folder, targets=["gfx1100"])
    return built.code_object


def run(session, code, kernel="fill", n=8):
    out = Buffer(dtype("f32"), np.zeros(8, np.float32), writable=True)
    launch = Launch(kernel, (1, 1, 1), (32, 1, 1), (Scalar(dtype("u32"), n), Pointer("out")))
    return session.execute(code, launch, {"out": out})


def test_rocm_runner_has_hardware_evidence(monkeypatch):
    monkeypatch.setattr(rocm, "_is_installed", lambda: False)
    assert isinstance(runner("rocm"), Runner)
    assert (runner("rocm").evidence, runner("rocm").vendor) == (Evidence.HARDWARE, "amd")


def test_probe_without_hip_python_states_installation(monkeypatch):
    monkeypatch.setattr(rocm, "_is_installed", lambda: False)
    assert runner("rocm").targets() == ()
    with pytest.raises(NotAvailable, match="hip-python is not installed; install it with: python -m pip install"):
        available("rocm")


@pytest.mark.parametrize(
    ("gpus", "says"),
    [
        ([], "no AMD GPU"),
        ([rocm.Gpu("AMD Radeon", "gfx1036", 1)], "the GPUs here are gfx1036"),
        (None, "finds no GPU"),
    ],
    ids=["none", "of another target", "no driver"],
)
def test_probe_without_gpu_states_reason(monkeypatch, gpus, says):
    def found():
        if gpus is None:
            raise rocm.HipCallError("hipErrorNoDevice: no ROCm-capable device is detected")
        return tuple(gpus)

    monkeypatch.setattr(rocm, "_is_installed", lambda: True)
    monkeypatch.setattr(rocm, "gpus", found)
    assert says in runner("rocm").probe().reason
    assert runner("rocm").targets() == ()
    assert runner("rocm").evidence == Evidence.HARDWARE


def _returned(number):
    return SUCCESS, SimpleNamespace(name=f"GPU {number}")


def _filled(properties, number):
    properties.name = f"GPU {number}"
    return (SUCCESS,)


@pytest.mark.parametrize("function", [_returned, _filled], ids=["hip-python 10", "hip-python 7.2"])
def test_properties_are_read_with_each_signature(function):
    hip = SimpleNamespace(hipGetDeviceProperties=function, hipDeviceProp_t=SimpleNamespace)
    assert rocm._properties(hip, 3).name == "GPU 3"


@needs_hip
@pytest.mark.parametrize("target", ["gfx1100", thorough("gfx90a")])
def test_suite_matches_emulated_runner_bit_for_bit(suite, opened, target):
    kernels = (
        *("affine_f32", "badd_f16", "cast_f32_bf16", "im2col_f32", "fill_f64", "gather_u32_f32", "fast_sum_f32"),
        *("asort_asc_f32", "where_u8_f32", "ugelu_f16", "mul_mat_vec_q4_K_q8_1_cuda2"),
        "matmul_f16_f32",
    )
    chosen = [entry for entry in suite.entries if entry.kernel in kernels]
    session, emulator = opened(target), runner("emulated").open(target).nearest
    codes = {}
    for built in build(suite.kernels, sorted({entry.op.module for entry in chosen}), [target]):
        codes[built.module] = built.code_object
    plan = Plan.of(suite, (), {}, examples=2)
    assert set(codes) == set(suite.modules)
    for entry in chosen:
        tasks = make_tasks(suite.select([entry.kernel]), runner_columns(runner("emulated"), [target]))
        for _, text in plan.draw(suite, tasks[0])[-4:]:
            call = entry.op.call(entry.op.parse(text))
            ours, theirs = (s.execute(codes[entry.op.module], call.launch, call.buffers) for s in (session, emulator))
            assert (ours.fault, theirs.fault) == (None, None), text
            for name, buffer in theirs.buffers.items():
                assert ours.buffers[name].tobytes() == buffer.tobytes(), (text, name)


@needs_hip
@pytest.mark.parametrize(
    "op", [thorough("adam.step"), "two_phases.sum", thorough("tables.weighted"), "variables.count_above"]
)
def test_structs_sequences_and_variables_match_emulated_runner(opened, op):
    suite = find_suite(DECLARED)
    (built,) = build(suite.kernels, [suite.op(op).module], ["gfx1100"])
    session, emulator = opened(), runner("emulated").open("gfx1100").nearest
    for case in sample(suite.op(op).cases(suite.op(op).types), 0, 4):
        call = suite.op(op).call(case).on(built.code_object)
        ours, theirs = (each.execute(built.code_object, call.launch, call.buffers) for each in (session, emulator))
        assert (ours.fault, theirs.fault) == (None, None), case
        assert all(ours.buffers[name].tobytes() == theirs.buffers[name].tobytes() for name in call.buffers)


@needs_hip
def test_write_past_buffer_end_is_fault(opened, code):
    session = opened()
    assert run(session, code).buffers["out"].tolist() == [1] * 8
    fault = run(session, code, n=9).fault
    assert (fault.kind, fault.lost) == ("out-of-bounds write", False)
    assert "byte 32 (element 8) of 'out'" in fault.message


@needs_hip
def test_illegal_address_loses_device_but_next_launch_works(opened, code):
    session = opened()
    fault = run(session, code, "wild").fault
    assert (fault.kind, fault.lost) == ("hipErrorIllegalAddress", True)
    assert "out-of-bounds write of 4 bytes in kernel 'wild' at some.cu:5" in fault.message
    assert run(session, code, n=3).buffers["out"].tolist() == [1] * 3 + [0] * 5


@needs_hip
@pytest.mark.parametrize(
    ("fault", "kind", "says", "lost"),
    [
        thorough("hipMalloc=hipErrorOutOfMemory", "out of memory", "hipErrorOutOfMemory", False),
        ("hipModuleLaunchKernel=hipErrorLaunchFailure", "hipErrorLaunchFailure", "unspecified launch failure", True),
        thorough("hipModuleLaunchKernel=hipErrorInvalidValue", "hipErrorInvalidValue", "invalid argument", False),
        thorough(
            "hipMemcpyAsync=hipErrorECCNotCorrectable@2", "hipErrorECCNotCorrectable", "uncorrectable ECC error", False
        ),
        ("hipStreamSynchronize=exit", "hipErrorUnknown", "the device is lost", True),
    ],
    ids=["out of memory", "launch failure", "launch refused", "copy back", "device lost"],
)
def test_hip_error_is_fault_with_its_name(opened, code, fault, kind, says, lost):
    found = run(opened(faults=[fault]), code).fault
    assert (found.kind, found.lost) == (kind, lost)
    assert says in found.message


@needs_hip
def test_exceeded_device_memory_is_out_of_memory(opened, code):
    fault = run(opened(memory=4096), code).fault
    assert (fault.kind, fault.message) == ("out of memory", "hipErrorOutOfMemory: out of memory")


@needs_hip
def test_failure_to_open_device_states_reason(opened, code):
    with pytest.raises(NotAvailable, match="hipErrorOperatingSystem: OS call failed"):
        run(opened(faults=["hipStreamCreateWithFlags=hipErrorOperatingSystem"]), code)
    with pytest.raises(NotAvailable, match="no GPU here is gfx90a"):
        run(IsolatedSession("parity.runners.rocm:RocmDevice", ("gfx90a", True)), code)


@needs_hip
def test_kernel_not_in_code_object_is_missing_kernel(opened, code):
    kernels = {**code.kernels, "fall": code.kernels["fill"]}
    fault = run(opened(), replace(code, kernels=kernels), "fall").fault
    assert fault.kind == "missing kernel"
    assert fault.message == "hipErrorNotFound: named symbol not found (fall)"


@needs_hip
@pytest.mark.parametrize("damage", [thorough("cut off"), "a byte", thorough("no ELF"), thorough("empty"), "other GPU"])
def test_unloadable_code_object_is_not_kernel_failure(opened, code, tmp_path, damage):
    content = code.binary.read_bytes()
    file = tmp_path / "damaged.hsaco"
    file.write_bytes(
        {
            "cut off": content[: len(content) // 2],
            "a byte": content[:18] + bytes([content[18] ^ 1]) + content[19:],  # e_machine of another processor
            "no ELF": b"#!/bin/sh" + content[9:],
            "empty": b"",
            "other GPU": content,
        }[damage]
    )
    target = "gfx90a" if damage == "other GPU" else "gfx1100"
    fault = run(opened(target), replace(code, binary=file, digest=damage)).fault
    assert (fault.kind, fault.lost) == ("unusable code object", False)
    assert str(file) in fault.message
    assert ("hipErrorNoBinaryForGpu" if damage == "other GPU" else "hipErrorInvalidImage") in fault.message


@needs_hip
@pytest.mark.parametrize(
    ("visible", "places", "targets", "workers"),
    [("", [1, 3, 1], "gfx90a gfx1100 gfx1030", 8), ("3,0", [0, 0, 0], "gfx1100 gfx90a", 4)],
    ids=["all", "some"],
)
def test_workers_spread_over_visible_gpus_of_target(emulated, monkeypatch, visible, places, targets, workers):
    emulated("gfx90a", "gfx1100", "gfx1030", "gfx1100")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", visible)
    program = (
        "from parity.runners.rocm import HipDriver, RocmRunner\n"
        "print([HipDriver('gfx1100', worker).number for worker in range(3)], *RocmRunner().targets())\n"
        "print(RocmRunner().evidence, RocmRunner().describe()['gpu'], RocmRunner().max_workers(['gfx1100']))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    gpus = ", ".join(f"parity's emulator ({target})" for target in targets.split())
    assert found.stdout.splitlines() == [f"{places} {targets}", f"emulated HIP {gpus} {workers}"]


SMALL_FLUSH = """
from parity.runners import timing
from parity.runners.rocm import RocmDevice

timing.FLUSH_BYTES = 1 << 20
"""


@needs_hip
def test_events_time_launch_and_updates_are_restored(emulated, code, tmp_path, monkeypatch):
    emulated()
    (tmp_path / "small_flush.py").write_text(SMALL_FLUSH)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    launch = Launch("fill", (1, 1, 1), (32, 1, 1), (Scalar(dtype("u32"), 8), Pointer("out")))
    out = Tiled(dtype("f32"), np.ones(3, np.float32), 8, writable=True)
    session = IsolatedSession("small_flush:RocmDevice", ("gfx1100", True))
    timings = session.time(code, launch, {"out": out}, hot=True, seconds=0.05)
    session.close()
    assert isinstance(timings, Timings), timings
    assert min(timings.cold.median, timings.hot.median, timings.host) > 0


@needs_hip
def test_command_line_run_is_shown_as_emulated(tmp_path):
    command = (
        "-m parity exec --target gfx90a -- {0} -m parity run fill.fill --dtype f32 --runner rocm --examples 2 "
        "-j 1 --json --output {1}"
    )
    arguments = command.format(sys.executable, tmp_path / "out").split()
    found = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=os.environ)
    assert found.returncode == 0, found.stderr
    assert "hardware" not in found.stdout
    (column,) = json.loads(found.stdout)["columns"]
    assert (column["runner"], column["target"], column["evidence"]) == ("rocm", "gfx90a", "emulated HIP")
