"""Every module exports exactly the entries of the table, with its argument sizes.

For the targets of a run that names none, whose modules the matrix builds anyway; the sessions ``parity`` of nox run the
suite on each of the others, where a kernel or an instruction that is missing fails, too.
"""

import re
import shutil
from pathlib import Path

import pytest
from entry_table import KERNELS, entries, passed_as

from parity.build.modules import build
from parity.build.result import Built
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.emulator.amdgpu.codegen import translate
from parity.emulator.amdgpu.isa import BRANCHES
from parity.emulator.amdgpu.listing import KernelCode, parse_instruction
from parity.emulator.instruction import Instruction
from parity.model.code_object import Kernel

ENTRIES = entries()


# All tests of a target build it once.
@pytest.fixture(scope="module", params=DEFAULT_TARGETS)
def built(request) -> dict[str, Built]:
    return {b.module: b for b in build(KERNELS, [*ENTRIES], [request.param])}


@pytest.fixture(scope="module")
def instructions(built) -> dict[str, Instruction]:
    """One instruction of each shape in all modules of a target: registers and numbers do not make a difference."""
    found: dict[str, Instruction] = {}
    for b in built.values():
        for line, text in enumerate(b.code_object.listing.split("\n"), 1):
            if re.match(r"\t[a-z]\w+_", text):
                code = text.partition(";")[0].strip()
                found.setdefault(re.sub(r"\d+", "0", code), parse_instruction(code, line))
    return found


def layout(c_types: list[str]) -> list[tuple[int, int, str]]:
    """Offset, size and value kind of each argument in a kernarg segment: natural alignment."""
    arguments, end = [], 0
    for c_type in c_types:
        size = passed_as(c_type).size
        offset = -(-end // size) * size
        arguments.append((offset, size, "global_buffer" if c_type.endswith("*") else "by_value"))
        end = offset + size
    return arguments


def differences(kernels: dict[str, Kernel], expected: dict[str, list[str]]) -> dict[str, str]:
    """What is wrong, by name of the kernel."""
    wrong = dict.fromkeys(expected.keys() - kernels.keys(), "missing")
    wrong |= dict.fromkeys(kernels.keys() - expected.keys(), "not in the table")
    for name in expected.keys() & kernels.keys():
        if (got := [(a.offset, a.size, a.kind) for a in kernels[name].args]) != layout(expected[name]):
            wrong[name] = f"arguments {got}"
    return wrong


@pytest.mark.parametrize("module", ENTRIES)
def test_exports_the_table(built, module):
    assert built[module].error is None
    assert not differences(built[module].code_object.kernels, ENTRIES[module])


@pytest.mark.parametrize("module", ENTRIES)
def test_hipify_leaves_nothing_to_a_person(built, module):
    assert not built[module].unmapped
    assert not built[module].hazards


@pytest.mark.parametrize("module", ["affine", "binary", "cast", "conv", "fill", "ternary", "unary"])
def test_kernels_without_exchange_need_registers_only(built, module):
    """The device library is inlined: no call, no scratch memory, no LDS, and a workgroup of 1024 fits.

    Scalar registers may spill, to lanes of a vector register.
    """
    code = built[module].code_object
    assert "s_swappc_b64" not in code.listing
    for kernel in code.kernels.values():
        assert (kernel.lds_bytes, kernel.scratch_bytes) == (0, 0), kernel.name
        assert kernel.max_threads == 1024, kernel.name


def test_no_architecture_guards():
    """HIP defines no such macro: a guarded kernel would vanish without an error."""
    for path in KERNELS.iterdir():
        assert "__CUDA_ARCH__" not in path.read_text(), path.name


TYPES = {"u8", "u32", "i64", "f16", "bf16", "f32", "f64", "f8_e4m3"}


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        (
            "\nFILL(f16)\n",
            "\n#if __CUDA_ARCH__ >= 530\nFILL(f16)\n#endif\n",
            {"fill_f16", "copy2d_f16", "const_set_f16"},
        ),
        ("\nFILL(u8)\n", "\nFILL(u8)\nFILL(i16)\n", {"fill_i16", "copy2d_i16", "const_set_i16"}),
        ("u32 src_stride", "size_t src_stride", {f"copy2d_{t}" for t in TYPES}),
        ("u32 d1, u32 d2", "i64 d1_d2", None),
    ],
    ids=["guarded", "extra", "wider argument", "broken"],
)
def test_a_changed_entry_is_noticed(cache, tmp_path: Path, old, new, wrong):
    folder = shutil.copytree(KERNELS, tmp_path / "kernels")
    source = folder / "fill.cu"
    assert old in source.read_text()
    source.write_text(source.read_text().replace(old, new))
    (built,) = build(folder, ["fill"], ["gfx1100"], cache=cache)
    if wrong is None:
        assert "fill.cu" in built.error.log
    else:
        assert differences(built.code_object.kernels, ENTRIES["fill"]).keys() == wrong


def test_the_emulator_knows_every_instruction(built, instructions):
    target = next(iter(built.values())).code_object.target
    elsewhere = BRANCHES.keys() | {"s_swappc_b64", "s_setpc_b64"}  # their operands are labels
    items = [item for item in instructions.values() if item.mnemonic not in elsewhere]
    assert len(items) > 500
    symbols = {name: 0 for item in items for name in re.findall(r"([\w.$]+)@rel32", item.text)}
    translate(KernelCode("every", tuple(items), {}), "every", TARGETS[target], symbols)
