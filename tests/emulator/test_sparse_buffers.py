"""Accesses through buffer resources: addresses, range checks, and forms that are refused."""

import struct

import numpy as np
import pytest

from parity.compilers.targets import TARGETS, target
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import MemoryFault, UnsupportedFeature

FORMAT, RAW = 0x14000, 3
LANES = 32


@pytest.fixture(params=TARGETS)
def run(request, translated, cache):
    return Accesses(request.param, translated("buffers")[request.param], cache)


class Accesses:
    """Runs a kernel with one block of 32 threads."""

    def __init__(self, name, code, cache):
        self.code, self.generation = code, target(name).generation
        self.device = AmdgpuDevice(cache=cache, traced=True)

    def __call__(self, kernel, x, out, *, records, stride=0, mode=RAW, offset=0):
        self.device.reset()
        buffers = []
        for name, array in (("x", x), ("out", out)):
            buffers.append(self.device.allocate(array.nbytes, name))
            self.device.write(buffers[-1], array)
        resource = struct.pack("<4I", stride, records, FORMAT | (mode << 28 if self.generation > 9 else 0), offset)
        args = pack(self.code.kernels[kernel], [*buffers, resource])
        self.device.launch(self.code, kernel, grid=(1, 1, 1), block=(LANES, 1, 1), args=args)
        return self.device.read(buffers[1]).view(out.dtype)


X = np.random.default_rng(0).integers(1, 1 << 32, 256, np.uint32)


@pytest.mark.parametrize("offset", [0, 4, 40], ids="offset={}".format)
@pytest.mark.parametrize("records", [0, 7, 48, 1024], ids="records={}".format)
@pytest.mark.parametrize("bits", [8, 16, 32, 64, 96, 128])
def test_raw_load_gives_zero_beyond_records(run, bits, records, offset):
    width = bits // 8
    expected = np.zeros(LANES * width, np.uint8)
    for i in range(LANES):
        for at in range(0, width, min(width, 4)):  # each word is checked
            size, begin = min(width, 4), i * width + at + offset
            if begin + (1 if run.generation == 10 else size) <= records:
                expected[i * width + at :][:size] = X.view(np.uint8)[begin:][:size]
    found = run(f"load_b{bits}", X, np.zeros(LANES * width, np.uint8), records=records, offset=offset)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("records", [0, 8, 50, 1024], ids="records={}".format)
@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128])
def test_raw_store_beyond_records_is_dropped(run, bits, records):
    width = bits // 8
    expected = np.full(LANES * width, 0xAA, np.uint8)
    last = records if run.generation == 10 else records // min(width, 4) * min(width, 4)
    end = min(-(-last // min(width, 4)) * min(width, 4), expected.size)
    expected[:end] = X.view(np.uint8)[:end]
    found = run(f"store_b{bits}", X, np.full(LANES * width, 0xAA, np.uint8), records=records)
    assert found.tobytes() == expected.tobytes()


def test_narrow_loads_extend_and_keep_halves(run):
    x = np.arange(-16, 16, dtype=np.int8)
    assert run("signed_bytes", x, np.zeros(LANES, np.int32), records=30).tolist() == [*x[:30].tolist(), 0, 0]
    halves = np.arange(32, dtype=np.float16)
    assert run("halves", halves, np.zeros(LANES, np.float16), records=8).tolist() == [1, 2, 3, 4, *[1] * 28]


def in_range(generation, mode, index, records, begin, end, stride):
    """Return whether the range check of a structured access passes: the tables of the manuals."""
    if generation == 9:
        return index < records
    last = begin + 1 if generation == 10 else end
    return {0: index < records and last <= stride, 1: index < records, 2: records != 0, 3: last <= records}[mode]


@pytest.mark.parametrize("mode", range(4), ids="mode={}".format)
@pytest.mark.parametrize(("records", "offset"), [(20, 0), (20, 8), (20, 12), (16, 16), (0, 0), (32, 4)])
def test_indexed_load_checks_records_as_mode_says(run, mode, records, offset):
    expected = []
    for i in range(LANES):
        for at in (offset, offset + 4):
            fits = in_range(run.generation, mode, i, records, at, at + 4, 16)
            expected.append(X[(16 * i + at) // 4] if fits else 0)
    layout = {"records": records, "stride": 16, "mode": mode, "offset": offset}
    assert run("load_pair_by_index", X, np.zeros(2 * LANES, np.uint32), **layout).tolist() == expected
    assert run("load_by_index", X, np.zeros(LANES, np.uint32), **layout).tolist() == expected[::2]


def test_atomic_returns_old_value_and_drops_lanes_out_of_range(run):
    out = np.array([1000, 2000, *[7] * LANES], np.uint32)
    x = np.arange(LANES, dtype=np.uint32)
    found = run("add_to", x, out, records=4)
    assert found[:2].tolist() == [1000 + x[::2].sum(), 2000]
    assert found[2::2].tolist() == (1000 + np.cumsum(x[::2]) - x[::2]).tolist()
    assert not found[3::2].any()


def test_compare_and_exchange_returns_old_value(run):
    out = np.arange(2 * LANES, dtype=np.uint32)
    x = np.arange(LANES, dtype=np.uint32) // 2 * 2  # odd threads expect another value
    found = run("exchange_if_equal", x, out, records=120)
    assert found[:LANES].tolist() == [100 + i if i % 2 == 0 and i < 30 else i for i in range(LANES)]
    assert found[LANES:].tolist() == [*range(30), 0, 0]


@pytest.mark.parametrize("kernel", ["load_b32", "load_b128"])
def test_access_in_range_but_outside_of_memory_is_fault(run, kernel):
    with pytest.raises(MemoryFault, match=r"out-of-bounds read(?s:.*)past the end of buffer 'x'"):
        run(kernel, X[:8], np.zeros(LANES * 4, np.uint32), records=1 << 20)


def test_swizzled_buffer_is_refused_by_name(run):
    with pytest.raises(UnsupportedFeature, match=r"uses swizzled buffers at buffers\.cu:\d+"):
        run("load_swizzled", X, np.zeros(LANES, np.uint32), records=32, stride=16)
