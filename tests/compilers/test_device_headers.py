"""Device headers other than mathematics, executed on every target: shuffles, votes, atomics and bit functions."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from marks import thorough

from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack

HERE = Path(__file__).parent
THREADS = 128
FEW_TARGETS = [name if name in ("gfx1100", "gfx90a") else thorough(name) for name in TARGETS]


@pytest.fixture(scope="module", params=TARGETS)
def built(request, cache):
    (built,) = build(
        HERE / "kernels", ["headers"], [request.param], cache=cache, settings=BuildSettings(hipifier="helpful")
    )
    assert built.error is None, built.error
    return built


@pytest.fixture
def run(built, cache):
    """Return a function that runs a kernel with the arguments x and out and returns out."""
    device, code = AmdgpuDevice(cache=cache), built.code_object

    def execute(kernel, x, out, grid=1):
        buffers = [device.allocate(array.nbytes, name) for name, array in (("x", x), ("out", out))]
        for buffer, array in zip(buffers, (x, out), strict=True):
            device.write(buffer, array)
        args = pack(code.kernels[kernel], buffers)
        device.launch(code, kernel, grid=(grid, 1, 1), block=(len(x) // grid, 1, 1), args=args)
        return device.read(buffers[1]).view(out.dtype)

    return execute


def test_headers_module_reports_only_ballot_and_warp_size_as_hazards(built):
    assert not built.changes.unmapped
    assert {hazard.name for hazard in built.changes.hazards} == {"__ballot", "warpSize"}


def exchanged(values, form, argument, width):
    """Return the result of CUDA's shuffle for each thread, in warps of 32."""
    result = []
    for thread, own in enumerate(values):
        lane, group = thread % 32, thread % 32 // width * width
        source, inside = {
            "of": (group + argument % width, True),
            "up": (lane - argument, lane - argument >= group),
            "down": (lane + argument, lane + argument < group + width),
            "xor": (lane ^ argument, lane ^ argument < group + width),  # threads may read an earlier group
        }[form]
        result.append(values[thread - lane + source] if inside else own)
    return result


EXCHANGES = (
    *(("of", 35, 32), ("of", 3, 8), ("up", 5, 32), ("up", 1, 4), ("down", 7, 32), ("down", 3, 16)),
    *(("xor", 16, 32), ("xor", 5, 8), ("xor", 12, 8)),
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        thorough("u8", np.uint8),
        ("i32", np.int32),
        thorough("u64", np.uint64),
        ("f16", np.float16),
        ("bf16", ml_dtypes.bfloat16),
        ("f32", np.float32),
        ("f64", np.float64),
    ],
)
@pytest.mark.parametrize("built", FEW_TARGETS, indirect=True, scope="module")
def test_shuffles_stay_within_groups_of_32_lane_warp(run, name, kind):
    x = (np.arange(THREADS) * 1.5 + 1).astype(kind)
    if name == "u64":
        x *= np.uint64(0x1_0000_0001)
    got = run(f"exchange_{name}", x, np.zeros(len(EXCHANGES) * THREADS, kind)).reshape(-1, THREADS)
    for exchange, row in zip(EXCHANGES, got, strict=True):
        assert row.tolist() == exchanged(x.tolist(), *exchange), exchange


def test_votes_count_active_lanes_of_wavefront(run, built):
    lanes = TARGETS[built.target].wavefront
    x = np.tile([3, 0, 5, 7], THREADS // 4).astype(np.int32)
    x[lanes + 2] = -5
    votes = run("votes", x, np.zeros(6 * THREADS + 1, np.uint64))
    assert votes[-1] == lanes
    for thread in np.flatnonzero(x):
        wave = x[thread // lanes * lanes :][:lanes]
        active, positive = (sum(1 << n for n in np.flatnonzero(w).tolist()) for w in (wave, wave > 0))
        votes_here = votes[6 * thread : 6 * thread + 6].tolist()
        # The helpful style limits __activemask to a warp of 32 lanes.
        warp = active >> (int(thread) % lanes & 32) & 0xFFFFFFFF
        assert votes_here == [warp, positive, 0, 1, active == positive, 1], thread


NUMBERS = (("i32", np.int32), ("u32", np.uint32), ("u64", np.uint64), ("f32", np.float32), ("f64", np.float64))


@pytest.mark.parametrize(("name", "kind"), NUMBERS)
@pytest.mark.parametrize("built", FEW_TARGETS, indirect=True, scope="module")
def test_atomics_of_all_threads_lose_no_update(run, name, kind):
    x = (np.arange(2 * THREADS) * 37 % 256 + 5).astype(kind)
    if name in ("i32", "f32", "f64"):
        x[::3] *= kind(-1)
    got = run(f"atomics_{name}", x, np.array([1, 70000, 50, 60, 0, 0], kind), grid=2)
    assert got[:4].tolist() == [1 + x.sum(), 70000 - x.sum(), min(50, x.min()), max(60, x.max())]
    assert got[4] in x
    assert got[5] == 0  # all values differ, so each was exchanged for a different one


@pytest.mark.parametrize(("name", "kind"), NUMBERS[:3])
@pytest.mark.parametrize("built", FEW_TARGETS, indirect=True, scope="module")
def test_bitwise_atomics_and_compare_and_swap_match_numpy(run, name, kind):
    x = (np.arange(2 * THREADS) * 0x1234567 % 0x7FFFFFFF).astype(kind) | kind(0x100)
    ones = kind(-1) if name == "i32" else ~kind(0)
    got = run(f"bitwise_{name}", x, np.array([ones, 2, 3, 4], kind), grid=2)
    assert got[0] == np.bitwise_and.reduce(x)
    assert got[1] == np.bitwise_or.reduce(x) | 2
    assert got[2] == np.bitwise_xor.reduce(x) ^ 3
    assert got[3] == x.sum(dtype=kind) + kind(4)


def test_bit_functions_match_python(run):
    x = np.array([0, 1, 0x80, 1 << 31, 1 << 32, 1 << 63, 0xF0F0F0F0F0, 2**64 - 1] * 8, np.uint64)
    got = run("bits", x, np.zeros(8 * len(x), np.uint64)).reshape(8, -1)
    for value, counts in zip(x.tolist(), got.T.tolist(), strict=True):
        low = value & 0xFFFFFFFF
        assert counts == [
            low.bit_count(),
            value.bit_count(),
            32 - low.bit_length(),
            64 - value.bit_length(),
            (low & -low).bit_length(),
            (value & -value).bit_length(),
            int(f"{low:032b}"[::-1], 2),
            int(f"{value:064b}"[::-1], 2),
        ]
