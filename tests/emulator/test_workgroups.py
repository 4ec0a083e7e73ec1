"""LDS, barriers, atomics, exchanges between lanes, scratch memory, calls and data, on every target."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from parity.compilers.targets import TARGETS
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import BadCall, DataRace, DivergentBarrier, LdsExceeded, MemoryFault
from parity.emulator.launch_options import LaunchOptions
from parity.errors import UsageError
from parity.model import code_object

HERE = Path(__file__).parent


@dataclass
class Workgroups:
    """Runs kernels of workgroups.cu on one target: arrays become buffers, numbers are passed by value."""

    device: AmdgpuDevice
    code: code_object.CodeObject

    @property
    def lanes(self) -> int:
        return TARGETS[self.code.target].wavefront

    def __call__(self, kernel, *values, block=256, grid=1, shared=0, **options):
        self.device.reset()
        buffers, given = [], []
        for value in values:
            if isinstance(value, np.ndarray):
                buffers.append((self.device.allocate(value.nbytes, f"arg{len(given)}"), value.dtype))
                self.device.write(buffers[-1][0], value)
                given.append(buffers[-1][0])
            else:
                given.append(np.int32(value))
        args = pack(self.code.kernels[kernel], given)
        self.stats = self.device.launch(
            self.code,
            kernel,
            grid=(grid, 1, 1),
            block=(block, 1, 1),
            args=args,
            shared_bytes=shared,
            options=LaunchOptions(**options),
        )
        return [self.device.read(buffer).view(dtype) for buffer, dtype in buffers]


@pytest.fixture(scope="module")
def built(translated):
    return translated("workgroups")


@pytest.fixture(params=TARGETS)
def run(request, built, cache):
    return Workgroups(AmdgpuDevice(cache=cache, traced=True, instruction_budget=5_000_000), built[request.param])


@pytest.fixture(params=TARGETS)
def untraced(request, built, cache):
    return Workgroups(AmdgpuDevice(cache=cache, instruction_budget=5_000_000), built[request.param])


INTS = np.arange(256, dtype=np.int32)


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_sum_in_lds_is_exact(run, seed):
    x = np.arange(256, dtype=np.float32)
    out = run("block_sum", x, np.zeros(5, np.float32), 200, grid=5, seed=seed)[1]
    assert out.tolist() == [x[:200].sum()] * 5


def test_dynamic_lds_contains_row(run):
    x = np.arange(100.0)
    assert np.array_equal(run("reversed_by_lds", x, np.zeros(100), 100, block=100, shared=800)[1], x[::-1])


def test_offset_beyond_lds_is_fault(run):
    with pytest.raises(MemoryFault) as caught:
        run("past_lds", INTS, INTS, 256, shared=1024)
    assert (caught.value.kind, caught.value.buffer, caught.value.offset) == ("out-of-bounds read", "LDS", 1024)
    with pytest.raises(MemoryFault, match=r"(?s)out-of-bounds write.*LDS"):
        run("past_lds", INTS, INTS, 256, shared=1020)
    with pytest.raises(MemoryFault, match="out-of-bounds read"):
        run("past_lds", INTS, INTS, 2**29, shared=1024)  # 2 GiB beyond


def test_read_of_unwritten_lds_is_fault(run):
    with pytest.raises(MemoryFault) as caught:
        run("unwritten_lds", INTS, INTS, grid=3)
    fault = caught.value
    assert (fault.kind, fault.buffer, fault.offset) == ("never-written read", "LDS", 77 * 4)
    assert fault.source.startswith("workgroups.cu:")


def test_launch_with_too_much_lds_is_fault(run):
    most = TARGETS[run.code.target].lds_bytes
    needed = most + 8
    with pytest.raises(LdsExceeded, match=rf"needs {needed} bytes of LDS .0 static, {needed} dynamic.*can have {most}"):
        run("reversed_by_lds", np.zeros(8), np.zeros(8), 8, block=8, shared=needed)
    with pytest.raises(UsageError, match="at most 1024 threads"):
        run("reversed_by_lds", np.zeros(8), np.zeros(8), 8, block=1025, shared=8)


def test_missing_barrier_in_lds_is_race(run):
    with pytest.raises(DataRace) as caught:
        run("without_barrier", INTS, INTS)
    race = caught.value
    assert {"store" in each or "write" in each for each in (race.instruction, race.other)} == {True, False}
    assert "of LDS" in str(race)
    assert str(race).count("workgroups.cu:") == 2
    run("without_barrier", INTS, INTS, block=run.lanes)  # one wavefront


def test_race_in_global_memory_names_both_accesses(run):
    for seed in range(1, 5):
        with pytest.raises(DataRace, match="buffer 'arg0'"):
            run("neighbour_in_place", np.arange(257, dtype=np.int32), seed=seed)
    run("neighbour_in_place", np.arange(257, dtype=np.int32), block=run.lanes)


def test_stores_of_different_values_are_race(run):
    with pytest.raises(DataRace):
        run("all_write_one_place", np.zeros(1, np.int32), 3)
    assert run("all_write_the_same", np.zeros(1, np.int32), 3)[0].tolist() == [3]


def test_accesses_of_two_workgroups_are_race(run):
    with pytest.raises(DataRace):
        run("blocks_in_a_row", np.zeros(9, np.int32), block=1, grid=8)


@pytest.mark.parametrize("seed", [0, 3, 99])
def test_ticket_orders_later_accesses(run, seed):
    x = np.arange(20, dtype=np.uint32)
    zeros = [np.zeros(n, np.uint32) for n in (20, 1, 1)]
    assert run("last_block_sums", x, *zeros, block=1, grid=20, seed=seed)[3][0] == 2 * x.sum()


def test_barrier_missed_by_lanes_is_divergent(run):
    odd = INTS * 0 + 1
    odd[3] = 0
    with pytest.raises(DivergentBarrier, match="lane 3 of a wavefront of workgroup"):
        run("divergent_lanes", odd, INTS)
    run("divergent_lanes", odd * 0 + 1, INTS)


def test_barrier_missed_by_wavefront_is_divergent(run):
    with pytest.raises(
        DivergentBarrier, match=r"the wavefront of threads 128 and up|the wavefront of threads 192 and up"
    ):
        run("divergent_waves", INTS, INTS, seed=0)
    run("divergent_waves", INTS, INTS, block=128)


@pytest.mark.parametrize("n", [1, 31, 32, 64, 65, 100, 256])
def test_barrier_does_not_wait_for_ended_threads(run, n):
    assert np.array_equal(run("early_exit", INTS, INTS * 0, n)[1][:n], INTS[:n][::-1])


def test_calls_use_separate_scratch_memory(run):
    index = np.arange(65, dtype=np.int32) % 40
    a = np.arange(40)[None] * np.arange(64.0)[:, None]
    a[np.arange(64), index[:64]] = 5
    wanted = a.sum(1) + a[np.arange(64), index[1:]]
    assert np.array_equal(run("scratch", index, np.zeros(64, np.float32), 40, block=64)[1], wanted)


@pytest.mark.parametrize("kernel", ["unwritten_lds", "unwritten_scratch"])
def test_initialized_device_lets_kernels_read_unwritten_memory(built, cache, kernel):
    device = AmdgpuDevice(cache=cache, traced=True, initialized=True, instruction_budget=5_000_000)
    index = np.full(64, 39, dtype=np.int32)
    Workgroups(device, built["gfx90a"])(kernel, index, np.zeros(64, np.float32), block=64)


def test_read_of_unwritten_scratch_is_fault(run):
    index = np.arange(64, dtype=np.int32) % 39
    run("unwritten_scratch", index, np.zeros(64, np.float32), block=64)
    index[5] = 39
    with pytest.raises(MemoryFault) as caught:
        run("unwritten_scratch", index, np.zeros(64, np.float32), block=64)
    fault = caught.value
    assert (fault.kind, fault.lane, fault.buffer) == ("never-written read", 5, "scratch of lane 5")
    assert "of 4 bytes of `a` (float[40]) in kernel 'unwritten_scratch' at workgroups.cu:" in str(fault)


@pytest.mark.parametrize("kernel", ["unwritten_scratch", "outside_scratch"])
@pytest.mark.parametrize("place", [-4000, -5, 45, 3000])
def test_access_outside_private_array_names_array(run, kernel, place):
    index = np.arange(64, dtype=np.int32) % 39
    index[5] = place
    with pytest.raises(MemoryFault) as caught:
        run(kernel, index, np.zeros(64, np.float32), block=64)
    fault = caught.value
    assert fault.lane == 5
    assert fault.buffer == "scratch of lane 5"
    assert "of `a` (float[40]) in kernel" in str(fault)
    assert "scratch is the private memory of a thread: where `a` is" in str(fault)
    assert abs(fault.offset - 4 * place) < 100  # start of the array in scratch memory


@pytest.mark.parametrize("by", [0, 1, 5, 23])
def test_register_array_is_indexed_at_run_time(run, by):
    index = np.random.default_rng(by).integers(0, 24, 65).astype(np.int32)
    index[0] = by
    lane = np.arange(64)
    a = (100 * lane[:, None] + np.arange(24)).astype(np.float32)
    a[:, : 24 - by] = a[:, by:].copy()
    for k in range(1, 4):
        a[:, index[k]] += np.float32(0.5)
    a[lane, index[:64]] = -1
    d = np.zeros((64, 24), np.float32)
    d[:, :6] = a[:, :6]
    for k in range(1, 4):
        d[:, index[k] % 6] += a[lane, index[1:]]
    _, out = run("array_in_registers", index, np.zeros(64 * 24, np.float32), block=64)
    assert np.array_equal(out, (a + d).ravel())


def test_every_target_indexes_registers(built):
    moves = {9: ("s_set_gpr_idx_on", "gpr_idx(SRC0)", "gpr_idx(DST)")}
    for target, code in built.items():
        listing = code.listing.split("\narray_in_registers:")[1].partition(".Lfunc_end")[0]
        for each in moves.get(TARGETS[target].generation, ("v_movrels_b32", "v_movreld_b32")):
            assert each in listing, target


@pytest.mark.parametrize("place", [2**20, 2**28, -(2**20), -(2**28)])
def test_wild_index_names_array(run, place):
    index = np.arange(64, dtype=np.int32) % 39
    index[5] = place
    with pytest.raises(MemoryFault) as caught:
        run("unwritten_scratch", index, np.zeros(64, np.float32), block=64)
    fault = caught.value
    assert (fault.buffer, fault.array) == ("scratch of lane 5", "a float[40]")
    assert abs(fault.offset - 4 * place) < 100


def test_kernel_reads_constants_and_variables(run):
    index = np.arange(8, dtype=np.int32)
    wanted = np.arange(1, 9) + np.frombuffer(b"constant", np.uint8)
    for n in range(1, 4):
        assert run("constants", index, np.zeros(8, np.float32), block=8)[1].tolist() == wanted.tolist()
        assert run("counted", np.zeros(1, np.int32), block=1)[0].tolist() == [5 + n]  # persists between launches
    with pytest.raises(MemoryFault, match="out-of-bounds write"):
        run("overwrite_constant", 3, block=1)
    with pytest.raises(MemoryFault, match="out-of-bounds read"):
        run("constants", index + 500, np.zeros(8, np.float32), block=8)


@pytest.mark.parametrize(("k", "wanted"), [(1, 8), (2, 7)])
def test_generic_pointers_reach_all_memory(run, k, wanted):
    out = run("generic_pointer", np.zeros(8, np.int32), k, INTS[:8] * 0, block=8)[-1]
    assert out.tolist() == [wanted] * 8


def test_generic_pointer_reaches_scratch(run):
    out = run("generic_pointer", np.zeros(8, np.int32), 3, INTS[:8] * 0, block=8)[-1]
    assert out.tolist() == [3 * ((t + 1) & 7) for t in range(8)]


def test_atomics_in_global_memory_equal_numpy(run):
    n = 96
    i, u, wide, f, d = run(
        "atomics", np.zeros(4, np.int32), np.array([2**32 - 1, 0, 0, 50, 0, 0] + [0] * 120, np.uint32),
        np.zeros(2, np.uint64), np.zeros(1, np.float32), np.zeros(1), block=n,
    )  # fmt: skip
    total = n * (n - 1) // 2
    assert i.tolist() == [total, -total, 1 - n, n - 1]
    assert u[:6].tolist() == [0, 2**32 - 1, np.bitwise_xor.reduce(np.arange(n)), 0, n - 1, n]
    assert (u[8 : 8 + n] == 1).all()
    assert wide.tolist() == [n << 33, (n - 1) << 40]
    assert (f[0], d[0]) == (n / 2, n / 4)


def test_atomics_in_lds_equal_numpy(run):
    x = np.arange(7, 263, dtype=np.uint32)
    assert run("atomics_in_lds", x, np.zeros(5, np.uint32))[1].tolist() == [x.sum(), 262, 256, 768, x.sum()]


def test_shuffles_move_values_between_lanes(run):
    at = np.arange(256)
    x = INTS * 3
    assert np.array_equal(run("bpermute", x, x)[1], x[at ^ 5])
    assert run.stats.crossing is None
    assert np.array_equal(run("swap_16", x, x)[1], x[at ^ 16])
    assert np.array_equal(run("row_shift", x, x)[1], np.where(at % 16 == 0, -1, np.roll(x, 1)))


def test_swizzles_move_values_between_lanes(run):
    at = np.arange(256)
    x = INTS * 3 + 1
    out = run("swizzles", x, np.zeros(6 * 256, np.int32))[1].reshape(6, 256)
    bits = at & ~31 | ((at & 31 & 0x15) | 0x02) ^ 0x09
    for got, source in zip(out, (at ^ 2, at ^ 7, at & ~7 | 3, bits, at ^ 3), strict=False):
        assert np.array_equal(got, x[source])
    assert np.array_equal(out[5], -4 * x)


def test_permlane_moves_values_within_rows(run):
    if TARGETS[run.code.target].generation < 10:
        pytest.skip("permlane came with generation 10")
    at = np.arange(256)
    x = INTS * 3 + 1
    out = run("rows", x, np.zeros(4 * 256, np.int32))[1].reshape(4, 256)
    assert np.array_equal(out[0], x[at ^ 15])
    assert np.array_equal(out[1], x[at ^ 31])
    assert np.array_equal(
        out[2], np.where(at & 1, -2, -1)
    )  # the source of an odd lane is an even lane, which is inactive
    assert np.array_equal(out[3], np.where(at & 1, 0, -1))


def test_exchange_across_lane_32_is_recorded(run):
    x = INTS * 3
    out = run("bpermute_over_32", x, x)[1]
    if run.lanes == 64:
        assert np.array_equal(out, x[np.arange(256) ^ 32])
        assert "bpermute" in run.stats.crossing.text
    else:
        assert np.array_equal(out, x)
        assert run.stats.crossing is None


def test_ballot_and_readfirstlane_use_active_lanes(run):
    x = (INTS * INTS // 7).astype(np.int32)
    waves = x.reshape(-1, run.lanes)
    bits = [sum(int(v & 1) << i for i, v in enumerate(wave)) for wave in waves]
    assert (
        run("ballot", x, np.zeros(256, np.uint64))[1].tolist()
        == np.repeat(np.array(bits, np.uint64), run.lanes).tolist()
    )
    first = [next(v for v in wave if v & 1) for wave in waves]
    wanted = np.where(x & 1, np.repeat(first, run.lanes), -1)
    assert np.array_equal(run("first_active", x, INTS * 0)[1], wanted)


@pytest.mark.parametrize("block", [32, 100, 256])
def test_barriers_reduce_the_predicate_of_all_threads(run, block):
    for x in (INTS[:block], np.zeros(block, np.int32), np.ones(block, np.int32)):
        odd = (x & 1).astype(bool)
        out = run("block_votes", x, np.zeros(3 * block, np.int32), block=block)[1].reshape(block, 3)
        assert (out == [odd.sum(), odd.all(), odd.any()]).all()


def test_ballot_with_mask_counts_set_lanes_before(run):
    x = (INTS * INTS // 7).astype(np.int32)
    first = x.reshape(-1, run.lanes)[:, :32] & 1
    wanted = np.cumsum(first, axis=1) - first
    assert run("before", x, INTS * 0)[1].tolist() == np.repeat(wanted, run.lanes // 32, axis=0).ravel().tolist()


def test_seed_permutes_wavefronts_and_workgroups(untraced):
    def tickets(seed):
        out = untraced("order_of_waves", np.zeros(257, np.int32), seed=seed)[0][1:]
        return tuple(out[:: untraced.lanes] // untraced.lanes)

    waves = 256 // untraced.lanes
    assert tickets(0) == tuple(range(waves))
    orders = {tickets(seed) for seed in range(1, 20)}
    assert len(orders) > 5
    assert all(sorted(order) == list(range(waves)) for order in orders)
    assert tickets(7) == tickets(7)

    def rows(**options):
        found = (
            untraced("blocks_in_a_row", np.zeros(9, np.int32), block=1, grid=8, seed=s, **options) for s in range(9)
        )
        return {tuple(each[0]) for each in found}

    assert len(rows()) > 2
    assert rows(in_order=True) == {tuple(range(9))}


def test_register_fill_shows_unwritten_register(built, cache):
    code = built["gfx1100"]
    store = next(line for line in code.listing.split("\n") if "global_store_b32" in line and "v0" in line)
    body = code.listing.index("\nall_write_the_same:")
    at = code.listing.index("\tglobal_store_b32", body)
    end = code.listing.index("\n", at)
    operands = code.listing[at:end].split("\t")[1].removeprefix("global_store_b32 ").split(", ")
    operands[1] = "v99"
    changed = f"{code.listing[:at]}\tglobal_store_b32 {', '.join(operands)}{code.listing[end:]}"
    assert store
    run = Workgroups(AmdgpuDevice(cache=cache), code_object.parse(changed, code.module))
    for fill in (0, 7):
        assert run("all_write_the_same", np.ones(1, np.int32), 3, block=1, register_fill=fill)[0].tolist() == [fill]


def test_call_to_invalid_address_is_bad_call(built, cache):
    code = built["gfx90a"]
    listing = code.listing.replace(
        "s_swappc_b64 s[30:31], s[4:5]", "s_mov_b32 s4, 0x1234\n\ts_swappc_b64 s[30:31], s[4:5]"
    )
    assert listing != code.listing
    run = Workgroups(AmdgpuDevice(cache=cache), code_object.parse(listing, code.module))
    with pytest.raises(BadCall, match="no function begins"):
        run("scratch", np.zeros(65, np.int32), np.zeros(64, np.float32), 40, block=64)


@pytest.mark.parametrize("in_lds", [0, 1], ids=["global", "LDS"])
@pytest.mark.parametrize("threads", [32, 128])
def test_read_before_later_write_names_writer_and_barrier(run, threads, in_lds):
    """The class does not depend on the number of wavefronts."""
    found = unwritten_read(run, in_lds, threads, 1)
    assert "never-written read of 4 bytes" in found
    assert re.search(r"reads before lane \d+ of wavefront \d+ writes, with no barrier \(__syncwarp\)", found)
    assert re.search(r"the write: \S+store\S+ .* at workgroups\.cu:\d+", found)


def test_read_before_write_of_other_wavefront_names_writer_and_barrier(run):
    found = unwritten_read(run, 0, 128, 64)
    assert re.search(r"reads before lane \d+ of wavefront \d+ writes, with no barrier \(__syncthreads\)", found)


def unwritten_read(run, in_lds, threads, other):
    device = AmdgpuDevice(traced=True)
    out = device.allocate(4 * threads, "out")
    args = pack(run.code.kernels["read_too_early"], [out, in_lds, other])
    with pytest.raises(MemoryFault) as caught:
        device.launch(run.code, "read_too_early", grid=(1, 1, 1), block=(threads, 1, 1), args=args)
    return str(caught.value)
