"""nvcc compiles the unmodified kernel sources to the kernels of ``entries.csv``."""

import re
import subprocess

import pytest
from entry_table import KERNELS, entries, passed_as
from marks import thorough

ENTRIES = entries()
_ENTRY = re.compile(r"\.entry (\w+)\(([^)]*)\)")
# .param .u64 [.ptr [.global] [.align 8]] NAME, or .param .align 2 .b8 NAME[2]
_PARAM = re.compile(
    r"\.param (?P<align>\.align \d+ )?(?P<type>\.\w+)(?: \.ptr(?: \.\w+)*(?: \d+)?)? \w+(?P<count>\[\d+\])?"
)


def parameters(ptx: str) -> dict[str, list[str]]:
    """Return the PTX types of the parameters by kernel name."""
    return {
        name: ["".join(part or "" for part in match.group("align", "type", "count")) for match in _PARAM.finditer(text)]
        for name, text in _ENTRY.findall(ptx)
    }


@pytest.fixture(scope="module")
def compiler(with_nvcc):
    return str(with_nvcc)


@pytest.mark.parametrize("module", [name if name == "affine" else thorough(name) for name in ENTRIES])
def test_nvcc_exports_kernels_of_table(module, compiler, tmp_path):
    ptx = tmp_path / f"{module}.ptx"
    command = [compiler, "-arch=sm_90", "-std=c++17", "-O3", "-ptx", str(KERNELS / f"{module}.cu"), "-o", str(ptx)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "warning" not in result.stderr
    expected = {kernel: [passed_as(t).ptx for t in c_types] for kernel, c_types in ENTRIES[module].items()}
    assert parameters(ptx.read_text()) == expected


def test_parameters_reads_types_from_ptx():
    ptx = """
.visible .entry affine_f16(
	.param .u64 affine_f16_param_0,
	.param .u64 .ptr .global .align 2 affine_f16_param_1,
	.param .align 2 .b8 affine_f16_param_2[2]
)
.maxntid 1024
"""
    assert parameters(ptx) == {"affine_f16": [".u64", ".u64", ".align 2 .b8[2]"]}
