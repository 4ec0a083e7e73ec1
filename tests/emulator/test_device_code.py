"""Device code other than arithmetic on every target: assertions, traps, printf, clocks, variables, pointers."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from test_workgroups import Workgroups

from parity.build.modules import build
from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import (
    BadCall,
    FailedAssertion,
    LdsExceeded,
    MemoryFault,
    Thread,
    Trapped,
    UnsupportedFeature,
)
from parity.emulator.printing import formatted
from parity.errors import UsageError

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def built(translated):
    return translated("device")


@pytest.fixture(params=TARGETS)
def run(request, built, cache):
    return Workgroups(AmdgpuDevice(cache=cache, traced=True, instruction_budget=5_000_000), built[request.param])


def numbers(n=128):
    return np.arange(n, dtype=np.int32)


def test_assertion_that_holds_has_no_effect(run):
    assert run("asserts", 128, numbers(), np.zeros(128, np.int32))[1].tolist() == numbers().tolist()
    assert run.device.take_printed() == ""


def test_failed_assertion_names_expression_place_and_thread(run):
    x = numbers(300)
    x[[197, 199]] = -1
    with pytest.raises(FailedAssertion) as caught:
        run("asserts", 300, x, np.zeros(300, np.int32), grid=2, block=192)
    failed = caught.value
    line = 1 + (HERE / "kernels/device.cu").read_text().split("\n").index('    assert(x[i] >= 0 && "negative");')
    assert (failed.expression, failed.file, failed.at) == ('x[i] >= 0 && "negative"', "device.cu", line)
    assert failed.thread == Thread((1, 0, 0), (5, 0, 0))
    assert str(failed).startswith(
        f"assertion `{failed.expression}` failed in kernel 'asserts' at device.cu:{line}, in "
    )
    assert str(failed).endswith("block (1, 0, 0), thread (5, 0, 0) and 1 more of its wavefront")


@pytest.mark.parametrize("kernel", ["traps", pytest.param("aborts", marks=pytest.mark.thorough)])
def test_trap_names_line_and_thread(run, kernel):
    x = numbers()
    assert run(kernel, 128, x, x.copy(), grid=1, block=128)[1].tolist() == x.tolist()
    x[70] = -1
    with pytest.raises(Trapped) as caught:
        run(kernel, 128, x, np.zeros(128, np.int32), block=128)
    call = {"traps": "__builtin_trap();", "aborts": "abort();"}[kernel]
    lines = (HERE / "kernels/device.cu").read_text().split("\n")
    assert caught.value.source == f"device.cu:{1 + lines.index(f'    if (x[i] < 0) {call}')}"
    assert caught.value.thread == Thread((0, 0, 0), (70, 0, 0))
    assert caught.value.kind == "trap"


def test_trap_in_either_branch_is_reported(run):
    """For the second trap, clang 22 leaves a pseudo instruction in the listing for gfx1100."""
    for x in (0, 1):
        with pytest.raises(Trapped) as caught:
            run("traps_either_way", x, numbers(1), np.zeros(2, np.int32), block=1)
        assert caught.value.thread == Thread((0, 0, 0), (0, 0, 0))
        (y,) = (a for a in run.device._memory.allocations if a.name == "arg2")
        assert run.device.read(y).view(np.int32).tolist() == [[0, 1], [1, 0]][x]


def test_printf_prints_formatted_text(run):
    y = run("prints", 128, numbers(), np.zeros(128, np.int32), block=128)[1]
    assert y.tolist() == numbers().tolist()
    assert sorted(run.device.take_printed().splitlines()) == sorted(
        [
            "5 of many: 2.500 1.0e+10|-5    |0000ff|z%",
            "69 of many: 34.500 1.0e+10|-69   |0000ff|z%",
            "-1099511627776 18446744073709551615 1000000000 -2 0x1234",
            "     42|3.14|nothing else",
        ]
    )
    run("asserts", 1, numbers(1), np.zeros(1, np.int32), block=1)
    assert run.device.take_printed() == ""


@pytest.mark.thorough
def test_long_output_is_truncated_and_counted(run):
    n = 4096
    run("prints_a_lot", n, numbers(n), np.zeros(n, np.int32), grid=16)
    text, _, more = run.device.take_printed().partition("\n... and more: ")
    assert len(text) == 4096
    assert re.match(r"thread \d+ has \d+\n", text)
    whole = sum(len(f"thread {i} has {i}\n") for i in range(n))
    assert more == f"{whole - 4096:,} characters\n"


@pytest.mark.parametrize(
    ("form", "arguments", "text"),
    [
        ("%+d % d %05d %-5d|", (1, 2, 3, 4), "+1  2 00003 4    |"),
        ("%hhd %hu %x %#o", (0x1FF, 0x1FFFF, -1, 8), "-1 65535 ffffffff 010"),
        ("%lx %lld", (-1, -5), "ffffffffffffffff -5"),
        ("%e %G %.0f %g", (1.5, 1e-10, 2.5, float("inf")), "1.500000e+00 1E-10 2 inf"),
        ("%05.1f|%5.2s|%%|%c", (-1.25, b"abcdef", ord("x")), "-01.2|   ab|%|x"),
        ("%*.*f", (8, 3, 3.14159), "   3.142"),
        ("%s %s", (b"", b"12345678"), " 12345678"),
        ("%d %d", (1,), "1 0"),
    ],
)
def test_format_equals_c_printf(form, arguments, text):
    """The expected texts follow the C standard."""

    def words(value):
        if isinstance(value, bytes):
            padded = value + bytes(8 - len(value) % 8)
            return np.frombuffer(padded, np.uint64).tolist()
        return np.array([value], np.float64 if isinstance(value, float) else np.int64).view(np.uint64).tolist()

    assert formatted([*words(form.encode()), *(word for value in arguments for word in words(value))]) == text


@pytest.mark.thorough
def test_clock_increases(run):
    first, second, wall, clock = run("clocks", 50, numbers(50), np.zeros(4, np.int64), block=1)[1]
    assert 0 < first < second < wall
    assert clock > 0
    assert second - first >= 50
    again = run("clocks", 50, numbers(50), np.zeros(4, np.int64), block=1)[1]
    assert again.tolist() == [first, second, wall, clock]


def test_kernel_reads_symbol_written_by_host(run):
    x, factors = numbers(64), np.tile([1, 10, 100, 1000], 16)
    y = run("tables", 64, x, np.zeros(64, np.float32), block=64)[1]
    assert y.tolist() == (x * factors + 1000).tolist()
    run.device.write_symbol(run.code, "given", np.array([1, 2, 3, 4], np.float32))
    y = run("tables", 64, x, np.zeros(64, np.float32), block=64)[1]
    assert y.tolist() == (x * factors + 1000 + np.tile([1, 2, 3, 4], 16)).tolist()
    run.device.restore()
    y = run("tables", 64, x, np.zeros(64, np.float32), block=64)[1]
    assert y.tolist() == (x * factors + 1000).tolist()
    with pytest.raises(UsageError, match=r"has no variable 'gven'; did you mean given"):
        run.device.symbol(run.code, "gven")
    with pytest.raises(UsageError, match="variable 'given' of module 'device' has 16 bytes, not 20"):
        run.device.write_symbol(run.code, "given", np.zeros(5, np.float32))


def test_variables_persist_until_restore(run):
    def launched():
        return run("variables", 2, numbers(2), np.zeros(2, np.int32), block=2)[1].tolist()

    assert [launched(), launched()] == [[1, 6], [2, 7]]
    assert run.device.read(run.device.symbol(run.code, "counter")).view(np.int32).tolist() == [2]
    run.device.restore()
    assert launched() == [1, 6]


def test_dynamic_shared_memory_follows_static_memory(run):
    y = run("reversed_in_room", 100, numbers(100), np.zeros(100, np.int32), block=100, shared=400)[1]
    assert y.tolist() == numbers(100)[::-1].tolist()
    with pytest.raises(MemoryFault, match=r"out-of-bounds write of 4 bytes .*"):
        run("reversed_in_room", 100, numbers(100), np.zeros(100, np.int32), block=100, shared=396)
    most, needed = TARGETS[run.code.target].lds_bytes, 170000
    with pytest.raises(
        LdsExceeded, match=f"needs {needed} bytes of LDS .* a workgroup on {run.code.target} can have {most}"
    ):
        run("reversed_in_room", 100, numbers(100), np.zeros(100, np.int32), block=100, shared=needed)


def test_call_through_pointer_reaches_function(run):
    x = numbers(96) - 40
    wanted = np.choose(np.arange(96) % 3, [2 * x, x * x, -x])
    assert run("through_a_table", 96, x, np.zeros(96, np.int32), block=96)[1].tolist() == wanted.tolist()
    wanted = np.where(np.arange(96) & 1, x * x, 3 * x)
    assert run("through_a_class", 96, x, np.zeros(96, np.int32), block=96)[1].tolist() == wanted.tolist()


def test_function_pointer_argument_is_called(run):
    x, functions = numbers(64), data_image(run.code.listing).functions

    def launched(function):
        run.device.reset()
        buffers = [run.device.allocate(x.nbytes, name) for name in "xy"]
        run.device.write(buffers[0], x)
        args = pack(run.code.kernels["through_an_argument"], [64, *buffers, function])
        run.device.launch(run.code, "through_an_argument", grid=(1, 1, 1), block=(64, 1, 1), args=args)
        return run.device.read(buffers[1]).view(np.int32).tolist()

    assert launched(functions["_Z7squaredi"]) == (x * x).tolist()
    with pytest.raises(BadCall, match="no function begins at the address"):
        launched(0)


def test_cooperative_groups_exchange_within_tiles(run):
    x = numbers(64)
    y = run("groups", 64, x, np.zeros(65, np.int32), block=64)[1]
    wanted = x // 8 * 8 + 3
    wanted[[0, 32]] = [x[:32].sum(), x[32:].sum()]
    assert y.tolist() == [*wanted.tolist(), x[32:].sum() + 64 + 8]


@pytest.mark.thorough
def test_coalesced_group_contains_active_threads(run):
    x, lanes = numbers(128), run.lanes
    y = run("coalesced", 128, x, np.zeros(128, np.int32), block=128)[1]
    wanted = np.full(128, -1)
    for begin in range(0, 128, lanes):
        there = [i for i in range(begin, begin + lanes) if i % 3 == 0]
        wanted[there] = np.arange(len(there)) + 100 * len(there) + 10000 * there[0]
    assert y.tolist() == wanted.tolist()


@pytest.mark.parametrize("target", TARGETS)
def test_unsupported_feature_is_named(target, cache):
    (built,) = build(HERE / "kernels", ["refused"], [target], cache=cache)
    assert built.error is None, built.error
    run = Workgroups(AmdgpuDevice(cache=cache, traced=True), built.code_object)
    sync = "synchronization of a whole grid (cg::this_grid().sync())"
    with pytest.raises(UnsupportedFeature, match=re.escape(f"kernel 'whole_grid' uses {sync} at refused.cu:6")):
        run("whole_grid", 2, numbers(2), np.zeros(2, np.int32), block=2)


IMAGES = """#include <cuda_runtime.h>
surface<void, 2> board;
extern "C" __global__ void sampled(float* y, cudaTextureObject_t image) {
    y[threadIdx.x] = tex2D<float>(image, threadIdx.x, 0.5f);
}
extern "C" __global__ void written(float* y) { surf2Dwrite(*y, board, 0, 0); }
"""


def test_unsupported_images_are_named_with_location(cache, tmp_path):
    (tmp_path / "images.cu").write_text(IMAGES)
    (built,) = build(tmp_path, ["images"], ["gfx942"], cache=cache)
    found = [f"{Path(each.file).name}:{each.line}: {each.name}: {each.advice}" for each in built.changes.faulty]
    unavailable = "'tex2D<float, nullptr>' is unavailable: The image/texture API not supported on the device"
    assert f"images.cu:4: sampled: {unavailable}" in found


@pytest.mark.parametrize(
    ("target", "fp8", "bf8"),
    [
        ("gfx942", ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz),
        ("gfx1201", ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
        ("gfx950", ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2),
    ],
)
def test_f8_conversions_match_ml_dtypes(target, fp8, bf8, cache):
    """Compare with ml_dtypes; any NaN is correct. One row covers the OCP formats on a wavefront of 64."""
    (built,) = build(HERE / "kernels", ["floats8"], [target], cache=cache)
    assert built.error is None, built.error
    run = Workgroups(AmdgpuDevice(cache=cache, traced=True), built.code_object)
    codes = np.arange(1 << 16, dtype=np.uint16)
    x = codes.astype(np.uint32) << 16 | codes
    low, high = (codes & 0xFF).astype(np.uint8), (codes >> 8).astype(np.uint8)
    got = run("decode", x.size, x, np.zeros(6 * x.size, np.float32), grid=256)[1].reshape(-1, 6).T
    for array, bits, kind in zip(got, (low, high, low, high, low, high), (fp8, bf8, fp8, fp8, bf8, bf8), strict=True):
        np.testing.assert_array_equal(array, bits.view(kind).astype(np.float32))
    values = np.arange(1 << 16, dtype=np.uint32) << 16
    values = np.concatenate([values, values | 0x8000, values | 0x7FFF, values | 0x8001]).view(np.float32)
    values = values[::3]
    got = run("encode", values.size, values, np.zeros(values.size, np.uint32), grid=-(-values.size // 256))[1]
    with np.errstate(all="ignore"):
        for shift, kind in ((0, fp8), (8, fp8), (16, bf8), (24, bf8)):
            sign = np.float32(-1 if shift % 16 else 1)
            wanted = (values * sign).astype(kind).astype(np.float32)
            np.testing.assert_array_equal((got >> shift).astype(np.uint8).view(kind).astype(np.float32), wanted)


def test_function_template_argument_is_called(run):
    (symbol,) = (name for name in run.code.kernels if "with_a_function" in name)
    assert run(symbol, 64, numbers(64), np.zeros(64, np.int32), block=64)[1].tolist() == (2 * numbers(64)).tolist()


TAPS = """
__constant__ float taps[7] = {1, 2, 3, 4, 5, 6, 7};
extern "C" __global__ void filtered(int n, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 7; k++) sum += taps[k] * x[(i + k) % n];
    y[i] = sum;
}
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_scalar_load_of_odd_number_of_constants_is_no_fault(tmp_path, cache, target):
    """Compilers read 7 numbers with one load of 8, because the variable is aligned to 16 bytes."""
    (tmp_path / "taps.cu").write_text(TAPS)
    (built,) = build(tmp_path, targets=[target], cache=cache)
    run = Workgroups(AmdgpuDevice(cache=cache), built.code_object)
    assert run("filtered", 64, np.ones(64, np.float32), np.zeros(64, np.float32), block=64)[1].tolist() == [28] * 64
