"""Launches, memory, faults and the cache, through the public interface."""

import dataclasses
import re

import numpy as np
import pytest

from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.amdgpu.listing import function_bodies
from parity.emulator.faults import InstructionBudgetExceeded, MemoryFault, NoProgress, UnknownInstruction
from parity.errors import UsageError
from parity.model import code_object


def test_divergent_loop_counts_per_lane(run):
    def steps(v):
        return 0 if v == 1 else 1 + steps(3 * v + 1 if v & 1 else v // 2)

    x = np.arange(1, 101, dtype=np.int32)
    assert run("collatz", x, out=np.int32).tolist() == [steps(int(v)) for v in x]


def test_inactive_lanes_do_not_write(run, device):
    x = np.arange(100, dtype=np.int32)
    run("every_other", x, out=np.int32)
    out = device._memory.allocations[-1]
    assert device.written(out).reshape(-1, 4).all(1).tolist() == [bool(i & 1) for i in range(100)]
    assert device.read(out).view(np.int32)[1::2].tolist() == x[1::2].tolist()


def test_decreasing_addresses_are_in_bounds(run):
    x = np.arange(77, dtype=np.int32)
    assert np.array_equal(run("reversed", x, out=np.int32), x[::-1])


@pytest.mark.parametrize("offset", ["-0x4", "-4"])
def test_scalar_load_with_negative_offset_reads_before_base(cache, code, offset):
    """Older compilers generate such loads."""
    (load,) = re.findall(
        r"\ts_load_b32 s\d+, s\[\d+:\d+\], 0x0(?: ; align 4)?\n", function_bodies(code.listing, "last")[0].text
    )
    low, high = re.findall(r"\[(\d+):(\d+)\]", load)[0]
    beyond = f"\ts_add_u32 s{low}, s{low}, 4\n\ts_addc_u32 s{high}, s{high}, 0\n" + load.replace("0x0", offset)
    device = AmdgpuDevice(cache=cache)
    x = np.array([11, 22, 33], np.int32)
    there, out = device.allocate(x.nbytes, "x"), device.allocate(4, "out")
    device.write(there, x)
    module = changed(code, load, beyond)
    device.launch(module, "last", grid=(1, 1, 1), block=(1, 1, 1), args=pack(module.kernels["last"], [3, there, out]))
    assert device.read(out).view(np.int32)[0] == 33


def test_launch_with_three_dimensions_numbers_all_threads(device, code):
    shape = (2 * 3, 3 * 2, 2 * 5)
    out = device.allocate(4 * np.prod(shape), "out")
    args = pack(code.kernels["where"], [0, out])
    device.launch(code, "where", grid=(2, 3, 2), block=(3, 2, 5), args=args)
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape[::-1]), indexing="ij")
    assert np.array_equal(device.read(out).view(np.int32), (x * 10000 + y * 100 + z).ravel())


def test_last_block_may_have_fewer_threads(device, code):
    x, out = device.allocate(400, "x"), device.allocate(400, "out")
    device.write(x, np.arange(100, dtype=np.int32))
    args = pack(code.kernels["reversed"], [100, x, out])
    device.launch(code, "reversed", grid=(3, 1, 1), block=(32, 1, 1), rest=(10, 0, 0), args=args)
    assert device.written(out).reshape(-1, 4).all(1).tolist() == [i < 74 for i in range(100)]


def test_last_layer_of_blocks_may_have_fewer_threads(device, code):
    shape = (2 * 3, 3 * 2, 2 * 5)
    out = device.allocate(4 * np.prod(shape), "out")
    args = pack(code.kernels["where"], [0, out])
    device.launch(code, "where", grid=(2, 3, 2), block=(3, 2, 5), rest=(0, 0, 4), args=args)
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape[::-1]), indexing="ij")
    assert np.array_equal(device.written(out).reshape(-1, 4).all(1), (z < 9).ravel())
    assert np.array_equal(device.read(out).view(np.int32)[: 9 * 36], (x * 10000 + y * 100 + z).ravel()[: 9 * 36])


def test_second_launch_reads_results_of_first(device, code):
    a, b, c = (device.allocate(400, name) for name in "abc")
    device.write(a, np.arange(100, dtype=np.int32))
    for source, target in ((a, b), (b, c)):
        args = pack(code.kernels["reversed"], [100, source, target])
        stats = device.launch(code, "reversed", grid=(1, 1, 1), block=(128, 1, 1), args=args)
    assert np.array_equal(device.read(c).view(np.int32), np.arange(100))
    again = device.launch(code, "reversed", grid=(1, 1, 1), block=(128, 1, 1), args=args)
    assert stats == again
    assert stats.instructions > 0


def test_read_past_end_is_fault(device, code):
    a, b = device.allocate(400, "x"), device.allocate(400, "y")
    device.write(a, np.arange(100, dtype=np.int32))
    args = pack(code.kernels["shifted"], [100, a, b])
    with pytest.raises(MemoryFault) as caught:
        device.launch(code, "shifted", grid=(2, 1, 1), block=(64, 1, 1), args=args)
    fault = caught.value
    assert (fault.kind, fault.kernel, fault.workgroup, fault.lane) == ("out-of-bounds read", "shifted", (1, 0, 0), 3)
    assert (fault.buffer, fault.offset, fault.size, fault.address) == ("x", 400, 4, a.address + 400)
    assert fault.source.startswith("small.cu:")
    assert "global_load_b32" in fault.instruction
    assert (
        str(fault).splitlines()[0].startswith(f"out-of-bounds read of 4 bytes in kernel 'shifted' at {fault.source}, ")
    )
    assert str(fault).endswith(f"address {a.address + 400:#x}: 0 bytes past the end of buffer 'x' (400 bytes)")
    assert device.written(b)[:256].all()


@pytest.mark.parametrize("carry", ["v_add_co_ci_u32_e64", "s_addc_u32"])
def test_lost_carry_into_upper_half_of_address_is_fault(device, code, carry):
    """Each buffer of more than 256 bytes lies across a multiple of 4 GiB."""
    body = function_bodies(code.listing, "reversed")[0].text
    line = next(line for line in reversed(body.splitlines()) if line.startswith(f"\t{carry} "))
    other = line.replace("add_co_ci", "sub_co_ci").replace("s_addc", "s_subb")
    a, b = device.allocate(400, "x"), device.allocate(400, "y")
    device.write(a, np.arange(100, dtype=np.int32))
    module = changed(code, line, other)
    with pytest.raises(MemoryFault):
        device.launch(
            module, "reversed", grid=(1, 1, 1), block=(128, 1, 1), args=pack(module.kernels["reversed"], [100, a, b])
        )


def test_read_of_unwritten_bytes_is_fault(device, code):
    a, b = device.allocate(400, "x"), device.allocate(400, "y")
    device.write(a, np.zeros(400, np.uint8), defined=np.arange(400) != 170)
    args = pack(code.kernels["reversed"], [100, a, b])
    with pytest.raises(MemoryFault) as caught:
        device.launch(code, "reversed", grid=(2, 1, 1), block=(64, 1, 1), args=args)
    assert (caught.value.kind, caught.value.buffer, caught.value.offset) == ("never-written read", "x", 168)


@pytest.mark.parametrize("index", [100, -1, 2**40, -(2**61), 2**61, 10**18])
def test_wild_store_is_fault(device, code, index):
    at, y = device.allocate(8, "at"), device.allocate(400, "y")
    device.write(at, np.array([index]))
    args = pack(code.kernels["store_at"], [1, at, y])
    with pytest.raises(MemoryFault) as caught:
        device.launch(code, "store_at", grid=(1, 1, 1), block=(64, 1, 1), args=args)
    assert caught.value.kind == "out-of-bounds write"
    assert caught.value.lane == 0
    assert caught.value.address == (y.address + 4 * index) % 2**64


@pytest.mark.parametrize("pointer", [None, 8, 3, 2**64 - 4, 2**63])
def test_wild_pointer_is_fault(device, code, pointer):
    y = device.allocate(400, "y")
    args = pack(code.kernels["reversed"], [64, pointer, y])
    with pytest.raises(MemoryFault) as caught:
        device.launch(code, "reversed", grid=(1, 1, 1), block=(64, 1, 1), args=args)
    assert caught.value.kind == "out-of-bounds read"


@pytest.mark.parametrize(
    ("traced", "error", "text"),
    [
        (False, InstructionBudgetExceeded, "timeout: kernel 'forever' executed more than 5000000"),
        (True, NoProgress, "no progress in kernel 'forever' at small.cu:"),
    ],
)
def test_endless_loop_raises_no_progress(cache, prepared, traced, error, text):
    device = AmdgpuDevice(cache=cache, traced=traced, instruction_budget=5_000_000)
    y = device.allocate(4, "y")
    device.write(y, np.zeros(4, np.uint8))
    args = pack(prepared.kernels["forever"], [0, y])
    with pytest.raises(error, match=text):
        device.launch(prepared, "forever", grid=(1, 1, 1), block=(32, 1, 1), args=args)


def changed(code, old, new):
    assert old in code.listing
    return code_object.parse(code.listing.replace(old, new), code.module)


def test_unknown_instruction_modifier_or_operand_is_named(cache, code):
    device = AmdgpuDevice(cache=cache)
    for new, what in (
        ("v_frobnicate_f32", "instruction v_frobnicate_f32"),
        ("v_add_f32 v0, v0, v1 wobble:3\n\ts_nop 0 ;", "modifier wobble:3 of v_add_f32"),
        ("v_add_f32 v0, v0, src_lds_direct\n\ts_nop 0 ;", "operand 'src_lds_direct'"),
        ("s_sendmsg sendmsg(MSG_GS_DONE)\n\ts_nop 0 ;", "message sendmsg(MSG_GS_DONE)"),
    ):
        with pytest.raises(UnknownInstruction) as caught:
            device.prepare(changed(code, "v_add_f32_e32", new), ["add_f32"])
        assert caught.value.what == what
        assert caught.value.kernel == "add_f32"
        assert f"listing line {caught.value.line}" in str(caught.value)


def test_deallocated_registers_before_end_have_no_effect(cache, code):
    gives_back = changed(code, "\tv_add_f32_e32", "\ts_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n\tv_add_f32_e32")
    device = AmdgpuDevice(cache=cache)
    x, y = np.array([1, 2], np.float32), np.array([30, 40], np.float32)
    places = [device.allocate(8, name) for name in ("x", "y", "out")]
    for place, values in zip(places, (x, y), strict=False):
        device.write(place, values)
    args = pack(gives_back.kernels["add_f32"], [2, *places])
    device.launch(gives_back, "add_f32", grid=(1, 1, 1), block=(2, 1, 1), args=args)
    assert device.read(places[2]).view(np.float32).tolist() == [31, 42]


def test_corrupt_listing_raises_usage_error(cache, code):
    device = AmdgpuDevice(cache=cache)
    torn = dataclasses.replace(code, stored=code.listing[: code.listing.index("\nadd_f32:") + 300], digest="torn")
    with pytest.raises(UsageError, match="cut off in kernel 'add_f32'"):
        device.prepare(torn, ["add_f32"])


def test_launch_with_wrong_arguments_raises_usage_error(device, code):
    kernel = code.kernels["add_f32"]
    with pytest.raises(UsageError, match="takes 4 arguments, not 1"):
        pack(kernel, [1])
    with pytest.raises(UsageError, match=r"argument 0 .* has 8 bytes, not 4"):
        pack(kernel, [np.float32(1), None, None, None])
    with pytest.raises(UsageError, match="takes 32 bytes of arguments, not 3"):
        device.launch(code, "add_f32", grid=(1, 1, 1), block=(1, 1, 1), args=b"abc")
    with pytest.raises(UsageError, match="did you mean add_f32"):
        device.launch(code, "add_f23", grid=(1, 1, 1), block=(1, 1, 1), args=b"")
    with pytest.raises(UsageError, match="at least 1"):
        device.launch(code, "add_f32", grid=(0, 1, 1), block=(1, 1, 1), args=bytes(32))


def test_memory_after_reset_is_unwritten(device):
    a = device.allocate(16, "a")
    device.write(a, np.ones(4, np.float32))
    assert device.written(a).all()
    device.reset()
    b = device.allocate(16, "b")
    assert b.address == a.address
    assert not device.written(b).any()
    with pytest.raises(UsageError, match="'a' was freed"):
        device.read(a)
    with pytest.raises(UsageError, match="does not have 20 bytes at offset 0"):
        device.write(b, np.ones(5, np.float32))


def test_read_returns_requested_part(device):
    a = device.allocate(8, "a")
    device.write(a, np.array([1, 2, 3], np.uint8), offset=2)
    assert device.read(a, 2, 3).tolist() == [1, 2, 3]
    assert device.read(a, 4).tolist()[0] == 3
    assert device.written(a, 1, 3).tolist() == [False, True, True]
    for part in ((6, 3), (-1, 1), (9,), (0, -1)):
        with pytest.raises(UsageError, match="'a' of 8 bytes does not have"):
            device.read(a, *part)


def test_freed_memory_is_out_of_bounds_until_reuse(device, code):
    a, b, c = (device.allocate(400, name) for name in "abc")
    device.write(a, np.zeros(100, np.int32))
    device.free(b)
    with pytest.raises(MemoryFault) as caught:
        args = pack(code.kernels["reversed"], [100, a, b])
        device.launch(code, "reversed", grid=(1, 1, 1), block=(128, 1, 1), args=args)
    assert caught.value.kind == "out-of-bounds write"
    with pytest.raises(UsageError, match="'b' was freed"):
        device.free(b)
    assert device.allocate(100, "smaller").address > c.address
    again = device.allocate(400, "again")
    assert again.address == b.address
    assert not device.written(again).any()


def test_second_device_compiles_nothing(cache, code, monkeypatch):
    device = AmdgpuDevice(cache=cache)
    device.prepare(code)
    monkeypatch.setattr("parity.compilers.zig.run", None)
    AmdgpuDevice(cache=cache).prepare(code, ["add_f32", "div_f64"])
    moved = changed(code, "\t.text\n", "\t.text\n\t; a comment that moves every line\n")
    AmdgpuDevice(cache=cache).prepare(moved)
