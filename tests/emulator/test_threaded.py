"""Threaded code: shared steps, and the same results as compiled code."""

import re

import numpy as np
import pytest

from parity.compilers.targets import TARGETS
from parity.emulator import jit
from parity.emulator.amdgpu.control_flow import END
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.amdgpu.language import Amdgpu
from parity.emulator.amdgpu.listing import KernelCode, kernel_code, parse_instruction
from parity.emulator.amdgpu.threaded import thread
from parity.emulator.launch_options import LaunchOptions
from parity.emulator.threaded_code import VECTOR, ThreadedCode
from parity.platform.cache import Cache


def threaded(code, kernel) -> ThreadedCode:
    return thread(kernel_code(code.listing, kernel), TARGETS[code.target], data_image(code.listing).symbols)


def test_steps_contain_no_operands(code):
    for kernel in code.kernels:
        for step in threaded(code, kernel).steps:
            assert not re.search(r"\b[sv]\d+\b|\bgoto\b|\dul\b", step), step


def test_operation_numbers_are_its_registers(code):
    found = threaded(code, "add_f32")
    (at,) = (i for i, step in enumerate(found.code) if "f32" in found.steps[step] and "a + b" in found.steps[step])
    a, b, target, old = found.numbers[at]
    assert target == old
    assert {VECTOR + n for n in (a, b, target)} <= {*found.registers}
    assert found.vectors > max(a, b, target)


def test_operands_exclude_constants_of_semantics():
    """The number 1 in the semantics of s_bitset1_b64 is not an operand."""
    items = (
        parse_instruction("s_bitset1_b64 s[4:5], s6", 1),
        parse_instruction("s_cbranch_scc1 .Lv1", 2),
        parse_instruction("v_add_u32_e32 v3, 65, v4", 3),
        ".Lv1",
        parse_instruction("s_endpgm", 4),
    )
    found = thread(KernelCode("kernel", items, {}), TARGETS["gfx1100"], {})
    numbers = {found.steps[step]: numbers for step, numbers in zip(found.code, found.numbers, strict=True)}
    (bit,) = (each for step, each in numbers.items() if "1ul <<" in step)
    assert set(bit) == {4, 5, 6}
    (_, place, _) = next(each for step, each in numbers.items() if "GO_TO(1)" in step)
    assert [found.steps[step] for step in found.code[place:]] == ["left -= N(0); (u64 &)N(1) |= 1;", END, END]
    assert next(each for step, each in numbers.items() if "a + b" in step) == (65, 4, 3, 3)


def test_repeated_instruction_has_operands_of_its_place(code):
    """The translation of an instruction is remembered, but kernels declare different registers."""
    addition = parse_instruction("v_add_f32_e32 v9, s3, v4", 7)
    alone = thread(KernelCode("a", (addition,), {}), TARGETS["gfx1100"], {})
    others = (parse_instruction("v_mul_f32_e32 v1, 2.0, v2", 1), parse_instruction("s_mov_b32 s3, 17", 2))
    after = thread(KernelCode("b", (*others, addition), {}), TARGETS["gfx1100"], {})

    def operation(found: ThreadedCode) -> tuple[str, tuple[int, ...]]:
        (at,) = (i for i, step in enumerate(found.code) if "a + b" in found.steps[step])
        return found.steps[found.code[at]], found.numbers[at]

    assert operation(alone) == operation(after) == (operation(alone)[0], (3, 4, 9, 9))
    assert {3, VECTOR + 1, VECTOR + 2, VECTOR + 4, VECTOR + 9} <= {*after.registers}
    assert VECTOR + 1 not in alone.registers


def test_shared_steps_are_compiled_once(code, tmp_path, monkeypatch):
    compiled = []
    device = AmdgpuDevice(cache=Cache(tmp_path), traced=True)
    original = jit.CompiledFunctions.compile
    monkeypatch.setattr(
        jit.CompiledFunctions, "compile",
        lambda self, texts, *others: (compiled.append({*texts}), original(self, texts, *others)),
    )  # fmt: skip
    for kernel in ("add_f32", "div_f64", "collatz", "add_f32"):
        device.prepare(code, [kernel])
    assert all(compiled[:3])
    assert not compiled[0] & compiled[1] | (compiled[0] | compiled[1]) & compiled[2]
    assert compiled[3] == set()
    assert len(compiled[2]) < len(threaded(code, "collatz").steps)


def test_parts_ignore_source_positions(code):
    """A new comment moves lines and changes the digest of the file in the listing."""
    assert re.search(r"\.file.* md5 0x", code.listing)
    moved = re.sub(r"(\.file.* md5 0x)\w+", r"\g<1>1", code.listing)
    moved = re.sub(r"(\.loc\t\d+ )(\d+)", lambda match: f"{match[1]}{int(match[2]) + 1}", moved)
    parts = Amdgpu().parts
    assert all(parts(code.listing, kernel) == parts(moved, kernel) for kernel in code.kernels)


@pytest.mark.parametrize("kernel", ["collatz", "every_other", "reversed"])
def test_threaded_code_equals_compiled_code(code, cache, kernel):
    results = []
    for traced in (False, True):
        device = AmdgpuDevice(cache=cache, traced=traced)
        x, out = device.allocate(400, "x"), device.allocate(400, "out")
        device.write(x, np.arange(1, 101, dtype=np.int32))
        args = pack(code.kernels[kernel], [100, x, out])
        stats = device.launch(code, kernel, grid=(2, 1, 1), block=(64, 1, 1), args=args, options=LaunchOptions(seed=7))
        results.append((stats.instructions, device.read(out).tobytes(), device.written(out).tobytes()))
    assert results[0] == results[1]
    assert results[0][0] > 0
