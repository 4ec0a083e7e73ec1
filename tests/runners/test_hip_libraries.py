"""The runners ``hipblas`` and ``hipblaslt``: the real hip-python with replacements of ROCm's libraries."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from parity.compilers import zig
from parity.errors import NotAvailable
from parity.hip.library import environment
from parity.model.dtypes import dtype
from parity.platform.installation import install_command
from parity.runners import Computation, Evidence, OpRunner, Probe, Unsupported, available, rocm, runner
from parity.runners import hip_libraries as libraries

NAMES = ("hipblas", "hipblaslt")
DTYPES = {"hipblas": ("f16", "bf16", "f32", "f64"), "hipblaslt": ("f16", "bf16", "f32")}
GEMM = {"hipblas": "hipblasGemmEx", "hipblaslt": "hipblasLtMatmul"}

needs_bindings = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("hip", "rocm", "rocm.bindings.hipblas")),
    reason=f"needs hip-python and its extra 'libraries'; install them with: {install_command('rocm')}",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Build replacements of hipBLAS and hipBLASLt and return their folder."""
    place = tmp_path_factory.mktemp("rocm")
    hip = Path(environment()["LD_LIBRARY_PATH"].split(os.pathsep)[0])
    flags = ("-shared", "-fPIC", "-O1", "-std=gnu11", "-fvisibility=hidden", "-Wall")
    source = Path(__file__).with_name("hip_blas.c")
    result = zig.run(["cc", *flags, source, f"-L{hip}", "-lamdhip64", "-o", place / "libhipblas.so"])
    assert result.returncode == 0, result.stderr
    (place / "libhipblaslt.so").symlink_to("libhipblas.so")
    return place


def set_machine(monkeypatch, folder, **more):
    """Set the environment of a machine with a GPU and that folder. Only child processes load HIP."""
    for name, value in environment(("gfx1100",), **more).items():
        paths = [str(folder), value] if name == "LD_LIBRARY_PATH" else [value]
        monkeypatch.setenv(name, os.pathsep.join(paths))
    monkeypatch.setenv("PARITY_BLAS_FAULT", str(folder / "fault"))


@pytest.fixture
def machine(monkeypatch, folder):
    def do(**more):
        set_machine(monkeypatch, folder, **more)

    return do


@pytest.fixture(scope="module", params=NAMES)
def library(request, folder):
    """A runner whose process serves many products."""
    with pytest.MonkeyPatch.context() as patch:
        set_machine(patch, folder)
        yield runner(request.param)


@pytest.fixture
def plant(folder):
    """Plant a fault in the libraries, even if a process has already loaded them."""
    file = folder / "fault"
    yield file.write_text
    file.unlink()


def numbers(name, rows, columns):
    """Small integers, so that every sum is exact in every type."""
    values = np.random.default_rng(rows * 31 + columns).integers(-3, 4, (rows, columns))
    return values.astype(dtype(name).numpy)


def laid(array, transposed=False, gap=0):
    """Store an array by rows, or by columns if transposed, with NaN in the gaps."""
    if transposed:
        return laid(array.T, gap=gap).T
    memory = np.full((array.shape[0], array.shape[1] + gap), np.nan, array.dtype)
    memory[:, : array.shape[1]] = array
    return memory[:, : array.shape[1]]


def restrided(array, stride):
    """Change the stride (in bytes) of dimensions of size 1."""
    strides = [stride if size == 1 else each for size, each in zip(array.shape, array.strides, strict=True)]
    return as_strided(array, array.shape, strides)


def asked(a, b, name="f32", **more):
    shape = (a.shape[0], b.shape[1])
    given = {"op": "gemm.matmul", "dtypes": (name,), "inputs": {"a": a, "b": b}, "params": {}, "shape": shape}
    return Computation(**{**given, "dtype": dtype(name), **more})


def check(library, a, b, name="f32"):
    out = library.compute("gfx1100", asked(a, b, name))
    assert (out.dtype, out.shape) == (dtype(name).numpy, (a.shape[0], b.shape[1]))
    np.testing.assert_array_equal(out.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("name", NAMES)
def test_library_runner_is_op_runner(name):
    found = runner(name)
    assert isinstance(found, OpRunner)
    assert (found.name, found.evidence, found.vendor) == (name, Evidence.LIBRARY, "amd")


@needs_bindings
@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_compute_supports_all_transposes_and_leading_dimensions(library, name):
    if name not in DTYPES[library.name]:
        with pytest.raises(Unsupported, match=f"no product of float64 and float64 in {name}; supported: f16 bf16 f32"):
            library.compute("gfx1100", asked(numbers(name, 2, 2), numbers(name, 2, 2), name))
        return
    for turned_a, turned_b, gap in itertools.product((False, True), (False, True), (0, 3)):
        for m, n, k in ((4, 4, 4), (3, 5, 7), (7, 2, 4)):
            a, b = numbers(name, m, k), numbers(name, k, n)
            check(library, laid(a, turned_a, gap), laid(b, turned_b, 2 * gap), name)


@needs_bindings
@pytest.mark.parametrize(("m", "n", "k"), list(itertools.product((1, 3), repeat=3)))
def test_compute_ignores_stride_of_size_one(library, m, n, k):
    a, b = numbers("f32", m, k), numbers("f32", k, n)
    for turned in (False, True):
        check(library, laid(a, turned, 2), laid(b, turned, 1))
    for stride in (60, 0):
        check(library, restrided(a, stride), restrided(b, stride))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("m", "n", "k"), [(0, 3, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0), (0, 2, 0)])
def test_empty_product_does_not_call_library(name, m, n, k):
    check(runner(name), numbers("f16", m, k), numbers("f16", k, n), "f16")


A, B = numbers("f32", 4, 6), numbers("f32", 6, 4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("case", "says"),
    [
        (asked(A[:, ::2], B[:3]), r"a of shape \(4, 3\) has the strides \(24, 8\) in bytes; neither"),
        (asked(A, B[:, ::-1]), r"b of shape \(6, 4\) has the strides \(16, -4\)"),
        (asked(A[::-1], B), "neither its rows nor its columns"),
        (asked(np.broadcast_to(A[:1], A.shape), B), "neither its rows nor its columns"),
        (asked(as_strided(A, (4, 6), (12, 4)), B), "contiguous and in order"),
        (asked(np.zeros((4, 27), np.uint8)[:, :24].view(np.float32), B), r"strides \(27, 4\)"),
        (asked(A, B, op="unary.neg"), "only gemm.matmul is computed, not unary.neg"),
        (asked(A, B, inputs={"a": A, "b": B, "out": A}), "the case has a, b, out"),
        (asked(A, B, params={"alpha": np.float32(2)}), "the case has a, b, alpha"),
        (asked(A.astype(np.int32), B.astype(np.int32), "i32"), "no product of int32 and int32 in i32; supported: f16"),
        (asked(A.astype(np.float16), B), "no product of float16 and float32 in f32"),
        (asked(A, B, shape=(4, 5)), r"no product of the shapes \(4, 6\) and \(6, 4\) in \(4, 5\)"),
    ],
    ids=(
        *("gaps", "backwards", "rows backwards", "broadcast", "overlap", "odd strides", "op", "out", "alpha"),
        *("integers", "mixed", "shapes"),
    ),
)  # fmt: skip
def test_other_ops_dtypes_and_layouts_are_unsupported(name, case, says):
    with pytest.raises(Unsupported, match=says):
        runner(name).compute("gfx1100", case)


FUNCTIONS = {
    "hipblas": ("Create", "SetStream", "GemmEx", "Destroy"),
    "hipblaslt": (
        *("Create", "MatmulDescCreate", "MatmulDescSetAttribute", "MatmulDescDestroy", "MatrixLayoutCreate"),
        *("MatrixLayoutDestroy", "MatmulPreferenceCreate", "MatmulPreferenceSetAttribute", "MatmulPreferenceDestroy"),
        *("MatmulAlgoGetHeuristic", "Matmul", "Destroy"),
    ),
}
PREFIXES = {"hipblas": "hipblas", "hipblaslt": "hipblasLt"}


@needs_bindings
def test_library_status_is_checked_and_named(library, plant):
    for function in (f"{PREFIXES[library.name]}{each}" for each in FUNCTIONS[library.name]):
        plant(f"{function}=2")
        with pytest.raises(libraries.LibraryError, match=f"^HIPBLAS_STATUS_ALLOC_FAILED: returned by {function}$"):
            library.compute("gfx1100", asked(A, B))
    plant("")
    check(library, A, B)


@needs_bindings
def test_library_that_ends_process_affects_one_product_only(library, plant):
    plant(f"{GEMM[library.name]}=abort")
    with pytest.raises(libraries.LibraryError, match=r"^crash: .* exit code -6\nrocBLAS error: Cannot read Tensile"):
        library.compute("gfx1100", asked(A, B))
    plant("")
    check(library, A, B)


LACKING = {
    "hipblas": {
        "hipblasGemmEx=7": "hipblasGemmEx returned HIPBLAS_STATUS_NOT_SUPPORTED",
        "hipblasCreate=8": "hipblasCreate returned HIPBLAS_STATUS_ARCH_MISMATCH",
    },
    "hipblaslt": {"hipblasLtMatmulAlgoGetHeuristic=-1": "has no algorithm for f32 NN 4 x 4 x 6"},
}


@needs_bindings
def test_not_supported_status_is_unsupported(library, plant):
    for fault, says in LACKING[library.name].items():
        plant(fault)
        for _ in range(2):  # the process continues, and the library keeps no objects
            with pytest.raises(Unsupported, match=says):
                library.compute("gfx1100", asked(A, B))


@needs_bindings
@pytest.mark.parametrize("name", NAMES)
def test_sticky_error_affects_one_product_only(machine, monkeypatch, name):
    machine(faults=["hipMemcpy=hipErrorIllegalAddress"])
    library = runner(name)
    with pytest.raises(libraries.LibraryError, match=f"HIPBLAS_STATUS_EXECUTION_FAILED: returned by {GEMM[name]}"):
        library.compute("gfx1100", asked(A, B))
    monkeypatch.delenv("PARITY_HIP_FAULTS")
    check(library, A, B)


@needs_bindings
def test_hip_error_is_named(machine):
    machine(faults=["hipMalloc=hipErrorOutOfMemory"])
    with pytest.raises(libraries.LibraryError, match=r"^hipErrorOutOfMemory: out of memory"):
        runner("hipblas").compute("gfx1100", asked(A, B))


@needs_bindings
def test_missing_gpu_is_not_available(machine):
    machine()
    with pytest.raises(NotAvailable, match="no GPU here is gfx90a"):
        runner("hipblas").compute("gfx90a", asked(A, B))


def in_a_process(program):
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return found.stdout.splitlines()


@needs_bindings
@pytest.mark.parametrize(("name", "version"), [("hipblas", "3.5.1"), ("hipblaslt", "1.2.3")])
def test_describe_returns_library_version(machine, name, version):
    machine()
    program = (
        f"from parity.runners import runner; found = runner({name!r})\n"
        f"print(found.probe()); print(found.targets()); print(found.max_workers(['gfx1100']))\n"
        f"print(found.describe()['gpu']); print(found.describe()[{name!r}])"
    )
    assert in_a_process(program) == [
        str(Probe(True)), "('gfx1100',)", "4", "parity's emulator (gfx1100)", version,
    ]  # fmt: skip


@needs_bindings
def test_version_that_library_does_not_return_is_advice_of_doctor(machine, plant):
    machine()
    program = (
        "from parity.cli.doctor import checks\n"
        "print(*(each.advice for each in checks() if each.name == 'hipblas: hipblas'))"
    )
    plant("hipblasCreate=1")
    assert in_a_process(program) == ["unknown: LibraryError: HIPBLAS_STATUS_NOT_INITIALIZED: returned by hipblasCreate"]


@needs_bindings
@pytest.mark.parametrize("name", NAMES)
def test_probe_without_library_states_reason(monkeypatch, name):
    monkeypatch.setenv("LD_LIBRARY_PATH", "")
    for key, value in environment(("gfx1100",)).items():
        monkeypatch.setenv(key, value)
    program = f"from parity.runners import runner; found = runner({name!r})\n"
    program += "print(found.probe().reason); print(found.targets()); print(found.probe().install)"
    reason, targets, install = in_a_process(program)
    assert f"lib{name}-dev" in install
    assert reason.startswith(f"hip-python cannot load lib{name}.so (failed to dlopen")
    assert targets == "()"


@pytest.mark.parametrize("name", NAMES)
def test_probe_without_bindings_states_installation(monkeypatch, name):
    monkeypatch.setattr(libraries, "gpu_problem", lambda: None)
    monkeypatch.setattr(libraries, "_binding", lambda name: None)
    with pytest.raises(NotAvailable, match=f"hip-python has no {name}: its extra 'libraries' is not .*; .*pip install"):
        available(name)


@pytest.mark.parametrize("name", NAMES)
def test_probe_without_hip_python_or_gpu_states_reason(monkeypatch, name):
    monkeypatch.setattr(rocm, "_is_installed", lambda: False)
    with pytest.raises(NotAvailable, match="hip-python is not installed; install it with: python -m pip install"):
        available(name)
    monkeypatch.setattr(rocm, "_is_installed", lambda: True)
    monkeypatch.setattr(rocm, "gpus", lambda: ())
    with pytest.raises(NotAvailable, match="this machine has no AMD GPU"):
        available(name)
    assert runner(name).targets() == ()


@needs_bindings
def test_command_line_run_and_doctor_report_library(machine, tmp_path):
    machine()
    command = (
        f"-m parity run gemm.matmul --runner hipblas --runner hipblaslt --examples 4 -j 1 --json --output {tmp_path}"
    )
    found = subprocess.run([sys.executable, *command.split()], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    columns = json.loads(found.stdout)["columns"]
    assert [(each["runner"], each["target"], each["evidence"]) for each in columns] == [
        (name, "gfx1100", "library") for name in NAMES
    ]
    found = subprocess.run([sys.executable, "-m", "parity", "doctor", "--json"], capture_output=True, text=True)
    said = {each["name"]: each["found"] for each in json.loads(found.stdout)}
    assert [said[name] for name in NAMES] == ["library, gfx1100"] * 2
    assert [said[f"{name}: {name}"] for name in NAMES] == ["3.5.1", "1.2.3"]
