"""The classes of instructions, and their counts in a launch."""

from pathlib import Path

import numpy as np
import pytest

from parity.build.modules import build
from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.classes import instruction_class
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.isa import IGNORED
from parity.emulator.amdgpu.kernarg import pack
from parity.model import code_object

HERE = Path(__file__).parent
INTS = np.arange(256, dtype=np.int32)
FLOATS = np.arange(256, dtype=np.float32)

# Lanes 0 to 7 execute the loop three times; a wavefront without these lanes skips it.
LOOP = """
	s_mov_b32 s0, 3
	v_cmp_gt_u32_e32 {vcc}, 8, v0
	s_and_saveexec_b{bits} {saved}, {vcc}
	s_cbranch_execz .LLATER
.LAGAIN:
	v_add_f32_e32 v1, v1, v1
	s_sub_i32 s0, s0, 1
	s_cmp_lg_u32 s0, 0
	s_cbranch_scc1 .LAGAIN
.LLATER:
	s_or_b{bits} {exec}, {exec}, {saved}
	s_waitcnt lgkmcnt(0)
	s_nop 0
	s_barrier
	s_endpgm
"""
# Eight instructions with one lane each, then with none.
MASKED = """
	s_mov_b{bits} {exec}, 1
	v_add_f32_e32 v1, v1, v1
	s_mov_b{bits} {exec}, 0
	v_add_f32_e32 v1, v1, v1
	v_mul_f32_e32 v1, v1, v1
	s_endpgm
"""
REGISTERS = {
    32: {"bits": 32, "vcc": "vcc_lo", "exec": "exec_lo", "saved": "s2"},
    64: {"bits": 64, "vcc": "vcc", "exec": "exec", "saved": "s[2:3]"},
}


@pytest.fixture(scope="module")
def built(cache):
    return {each.target: each.code_object for each in build(HERE / "kernels", ["workgroups"], TARGETS, cache=cache)}


@pytest.fixture(params=["gfx1030", "gfx1100", "gfx90a"])
def code(request, built):
    return built[request.param]


@pytest.fixture(params=TARGETS)
def any_code(request, built):
    return built[request.param]


def written(code, text):
    """Return the code object with this assembly as the code of block_sum."""
    text = text.format(**REGISTERS[TARGETS[code.target].wavefront])
    begin = code.listing.index("\nblock_sum:") + len("\nblock_sum:")
    end = code.listing.index("\ts_endpgm\n", begin) + len("\ts_endpgm\n")
    return code_object.parse(code.listing[:begin] + text + code.listing[end:], code.module)


def launched(code, kernel, *values, block=256, grid=1, shared=0, cache, **options):
    device = AmdgpuDevice(cache=cache, **options)
    given = []
    for value in values:
        if isinstance(value, np.ndarray):
            given.append(device.allocate(value.nbytes))
            device.write(given[-1], value)
        else:
            given.append(np.int32(value))
    args = pack(code.kernels[kernel], given)
    return device.launch(code, kernel, grid=(grid, 1, 1), block=(block, 1, 1), args=args, shared_bytes=shared)


@pytest.mark.parametrize(
    ("mnemonic", "name"),
    [
        *[("v_add_f32_e64", "valu"), ("v_dual_mul_f32", "valu"), ("v_readlane_b32", "valu"), ("v_mfma_f32_x", "valu")],
        *[("s_and_saveexec_b32", "salu"), ("s_getpc_b64", "salu"), ("s_load_b128", "smem"), ("s_memtime", "smem")],
        *[("global_load_dwordx2", "vmem load"), ("flat_load_b32", "vmem load"), ("global_store_b8", "vmem store")],
        *[("global_atomic_add_u32", "vmem atomic"), ("ds_add_u32", "lds"), ("ds_bpermute_b32", "lds")],
        *[("scratch_store_b32", "scratch"), ("buffer_store_dword", "scratch"), ("s_cbranch_vccnz", "branch")],
        *[("s_swappc_b64", "branch"), ("s_barrier", "barrier"), ("s_barrier_wait", "barrier"), ("s_endpgm", "other")],
        *[("s_waitcnt", "wait"), ("s_nop", "wait"), ("buffer_gl0_inv", "wait"), ("tensor_load", "other")],
    ],
)
def test_instruction_class_matches_mnemonic(mnemonic, name):
    assert instruction_class(mnemonic) == name


def test_instruction_class_of_ignored_instruction_is_wait():
    assert {instruction_class(mnemonic) for mnemonic in IGNORED} == {"wait"}


def test_count_includes_each_iteration_and_no_skipped_code(code, cache):
    """64 threads are one wavefront of 64, or two of 32; the second one skips the loop."""
    counts = launched(written(code, LOOP), "block_sum", FLOATS, FLOATS, 0, block=64, cache=cache, counted=True).classes
    through = {"valu": 4, "salu": 9, "branch": 4, "barrier": 1, "other": 1}
    around = {"valu": 1, "salu": 3, "branch": 1, "barrier": 1, "other": 1}
    waves = [through] if TARGETS[code.target].wavefront == 64 else [through, around]
    assert counts == {name: sum(wave[name] for wave in waves) for name in through}


def test_count_is_per_wavefront_regardless_of_lanes(code, cache):
    code = written(code, MASKED)
    for block, waves in ((1, 1), (64, 64 // TARGETS[code.target].wavefront)):
        counts = launched(code, "block_sum", FLOATS, FLOATS, 0, block=block, grid=3, cache=cache, counted=True).classes
        assert counts == {"valu": 9 * waves, "salu": 6 * waves, "other": 3 * waves}


def test_count_separates_kinds_of_memory_accesses(any_code, cache):
    code = any_code
    """Every wavefront of block_sum stores to LDS once before the loop; one of each block writes the result."""
    out = np.zeros(3, np.float32)
    counts = launched(code, "block_sum", FLOATS, out, 256, grid=3, cache=cache, counted=True).classes
    waves = 256 // TARGETS[code.target].wavefront
    assert (counts["vmem load"], counts["vmem store"]) == (3 * waves, 3)
    assert counts["barrier"] == 3 * waves * 9
    assert counts["lds"] >= 3 * (waves + 8 * 2 + 1)


def test_class_counts_add_up_to_all_instructions(any_code, cache):
    code = any_code
    for kernel, values, options in (
        ("block_sum", (FLOATS, np.zeros(5, np.float32), 200), {"grid": 5}),
        ("reversed_by_lds", (np.zeros(100), np.zeros(100), 100), {"block": 100, "shared": 800}),
        ("scratch", (INTS[:65] % 40, FLOATS[:64], 40), {"block": 64}),  # calls a function
        ("atomics_in_lds", (INTS.astype(np.uint32), np.zeros(5, np.uint32)), {}),
    ):
        usual = launched(code, kernel, *values, **options, cache=cache)
        counted = launched(code, kernel, *values, **options, cache=cache, counted=True)
        again = launched(code, kernel, *values, **options, cache=cache, counted=True)
        assert usual.classes is None
        assert usual.instructions == counted.instructions == sum(counted.classes.values())
        assert again == counted


def test_counting_device_compiles_separate_code(code, cache, monkeypatch):
    AmdgpuDevice(cache=cache, traced=True).prepare(code, ["block_sum"])
    AmdgpuDevice(cache=cache, counted=True).prepare(code, ["block_sum"])
    monkeypatch.setattr("parity.compilers.zig.run", None)
    for options in ({"traced": True}, {"counted": True}):
        launched(code, "block_sum", FLOATS, FLOATS, 0, cache=cache, **options)
