"""Every module exports exactly the kernels of ``entries.csv``, with the listed argument sizes.

The tests cover the default targets, whose modules the matrix builds in any case. The nox session ``parity`` runs the
suite on the other targets, where a missing kernel or instruction also fails.
"""

import re
import shutil
from pathlib import Path

import pytest
from entry_table import KERNELS, entries, passed_as
from marks import thorough

from parity.build.modules import build
from parity.build.result import Built
from parity.compilers.targets import DEFAULT_TARGETS, TARGETS
from parity.emulator.amdgpu.codegen import translate
from parity.emulator.amdgpu.isa import BRANCHES
from parity.emulator.amdgpu.listing import KernelCode, parse_instruction
from parity.emulator.instruction import Instruction
from parity.model.code_object import Kernel

ENTRIES = entries()


# Module scope: all tests of a target share one build.
@pytest.fixture(scope="module", params=DEFAULT_TARGETS)
def built(request) -> dict[str, Built]:
    return {b.module: b for b in build(KERNELS, [*ENTRIES], [request.param])}


@pytest.fixture(scope="module")
def instructions(built) -> dict[str, Instruction]:
    """Return one instruction of each shape in all modules of a target, ignoring register numbers and constants."""
    found: dict[str, Instruction] = {}
    for b in built.values():
        for line, text in enumerate(b.code_object.listing.split("\n"), 1):
            if re.match(r"\t[a-z]\w+_", text):
                code = text.partition(";")[0].strip()
                found.setdefault(re.sub(r"\d+", "0", code), parse_instruction(code, line))
    return found


def layout(c_types: list[str]) -> list[tuple[int, int, str]]:
    """Return offset, size and value kind of each argument in a kernarg segment with natural alignment."""
    arguments, end = [], 0
    for c_type in c_types:
        size = passed_as(c_type).size
        offset = -(-end // size) * size
        arguments.append((offset, size, "global_buffer" if c_type.endswith("*") else "by_value"))
        end = offset + size
    return arguments


def differences(kernels: dict[str, Kernel], expected: dict[str, list[str]]) -> dict[str, str]:
    """Return a description of each difference, by kernel name."""
    wrong = dict.fromkeys(expected.keys() - kernels.keys(), "missing")
    wrong |= dict.fromkeys(kernels.keys() - expected.keys(), "not in the table")
    for name in expected.keys() & kernels.keys():
        if (got := [(a.offset, a.size, a.kind) for a in kernels[name].args]) != layout(expected[name]):
            wrong[name] = f"arguments {got}"
    return wrong


@pytest.mark.parametrize("module", ENTRIES)
def test_module_exports_kernels_of_table(built, module):
    assert built[module].error is None
    assert not differences(built[module].code_object.kernels, ENTRIES[module])


@pytest.mark.parametrize("module", ENTRIES)
def test_hipify_reports_no_unmapped_names_or_hazards(built, module):
    assert not built[module].changes.unmapped
    assert not built[module].changes.hazards


@pytest.mark.parametrize("module", ["affine", "binary", "cast", "conv", "fill", "ternary", "unary"])
def test_elementwise_kernels_use_registers_only(built, module):
    """The device library is inlined: kernels use registers instead of calls, scratch memory and LDS.

    A workgroup of 1024 fits. Scalar registers may spill to lanes of a vector register.
    """
    code = built[module].code_object
    assert "s_swappc_b64" not in code.listing
    for kernel in code.kernels.values():
        assert (kernel.lds_bytes, kernel.scratch_bytes) == (0, 0), kernel.name
        assert kernel.max_threads == 1024, kernel.name


def test_kernel_sources_have_no_architecture_guards():
    """HIP does not define ``__CUDA_ARCH__``, so a guarded kernel would disappear without an error."""
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
        thorough("\nFILL(u8)\n", "\nFILL(u8)\nFILL(i16)\n", {"fill_i16", "copy2d_i16", "const_set_i16"}),
        thorough("u32 src_stride", "size_t src_stride", {f"copy2d_{t}" for t in TYPES}),
        thorough("u32 d1, u32 d2", "i64 d1_d2", None),
    ],
    ids=["guarded", "additional", "wider argument", "broken"],
)
def test_differences_report_changed_kernels(cache, tmp_path: Path, old, new, wrong):
    folder = shutil.copytree(KERNELS, tmp_path / "kernels")
    source = folder / "fill.cu"
    assert old in source.read_text()
    source.write_text(source.read_text().replace(old, new))
    (built,) = build(folder, ["fill"], ["gfx1100"], cache=cache)
    if wrong is None:
        assert "fill.cu" in built.error.log
    else:
        assert differences(built.code_object.kernels, ENTRIES["fill"]).keys() == wrong


def test_emulator_translates_every_instruction(built, instructions):
    target = next(iter(built.values())).code_object.target
    elsewhere = BRANCHES.keys() | {"s_swappc_b64", "s_setpc_b64"}  # operands are labels
    items = [item for item in instructions.values() if item.mnemonic not in elsewhere]
    assert len(items) > 500
    symbols = {name: 0 for item in items for name in re.findall(r"([\w.$]+)@rel32", item.text)}
    translate(KernelCode("every", tuple(items), {}), "every", TARGETS[target], symbols)
