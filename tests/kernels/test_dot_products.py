"""Kernels with products of signed bytes use AMD's four-byte dot product instructions."""

import re

import pytest
from entry_table import KERNELS, entries

from parity.build.modules import build
from parity.emulator.amdgpu.listing import function_bodies

PRODUCTS = [name for name in entries()["quantized"] if re.match(r"mul_mat_|indexed_moe_", name)]

INSTRUCTIONS = {
    "gfx1030": "v_dot4c?_i32_i8",
    "gfx90a": "v_dot4c?_i32_i8",
    "gfx1100": "v_dot4_i32_iu8",
}
"""Dot product instruction by target. For ``v_dot4_i32_iu8``, neg_lo states that both operands are signed."""


def least(name: str) -> int:
    """Return the least number of dot product instructions in a kernel: enough for 32 weights of two rows."""
    if vectors := re.search(r"cuda(\d)$", name):
        return 16 * int(vectors[1])
    return 16 if name.startswith("indexed_moe_") else 128  # 16 weights of 64 rows and 64 vectors, by 128 threads


@pytest.mark.parametrize("target", INSTRUCTIONS)
def test_byte_products_use_dot_product_instructions(target):
    (built,) = build(KERNELS, ["quantized"], [target])
    assert len(PRODUCTS) == 96
    for name in PRODUCTS:
        body = "\n".join(part.text for part in function_bodies(built.code_object.listing, name))
        found = re.findall(rf"\t{INSTRUCTIONS[target]}(?:_\w+)? (.*)", body)
        assert len(found) >= least(name), name
        if "iu8" in INSTRUCTIONS[target]:
            assert all("neg_lo:[1,1,0]" in operands for operands in found), name
