"""Instructions that move values between lanes, as C++ (``v_readlane_b32`` ...).

Semantics: RDNA3 ISA, chapters 7 and 16.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from parity.emulator.amdgpu.memory_instructions import memory_modifiers
from parity.emulator.amdgpu.operands import (
    list_element,
    parse_modifiers,
    read_scalar,
    read_vector,
    registers,
    reject_modifiers,
    write_scalar,
    write_vector,
)
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, Unknown


def _readlane(w: Writer, item: Instruction) -> None:
    reject_modifiers(item)
    value, lane = read_vector(w, item.operands[1], "u32"), read_scalar(w, item.operands[2], "u32")
    w.put(*write_scalar(w, item.operands[0], "u32", f"({value})[{lane} & (LANES - 1)]"))


def _writelane(w: Writer, item: Instruction) -> None:
    reject_modifiers(item)
    (target,) = registers(w, item.operands[0])
    lane, value = read_scalar(w, item.operands[2], "u32"), read_scalar(w, item.operands[1], "u32")
    w.put(f"{target}[{lane} & (LANES - 1)] = {value};")


def _swap(w: Writer, item: Instruction) -> None:
    reject_modifiers(item)
    a, b = (registers(w, operand)[0] for operand in item.operands)
    w.put(f"{{ const V<u32> x = {a}, y = {b};", *write_vector(w, item.operands[0], "u32", "y"))
    w.put(*write_vector(w, item.operands[1], "u32", "x"), "}")


def _swap_rows(w: Writer, item: Instruction) -> None:
    """Exchange the odd rows of the first register with the even rows of the second one."""
    reject_modifiers(item)
    lanes = int(item.mnemonic.removeprefix("v_permlane").partition("_")[0])
    a, b = (registers(w, operand)[0] for operand in item.operands)
    w.put(f"{{ V<u32> x = {a}, y = {b}; swap_rows({lanes}, &x, &y);", *write_vector(w, item.operands[0], "u32", "x"))
    w.put(*write_vector(w, item.operands[1], "u32", "y"), "}")


def _permlane(w: Writer, item: Instruction) -> None:
    """Read any lane of a row of 16, selected by a nibble for each lane; op_sel is (fetch inactive, bound control)."""
    lists, clamp, omod = parse_modifiers(item, ("op_sel",))
    if clamp or omod:
        raise Unknown(f"modifier {clamp or omod} of {item.mnemonic}")
    target, source, low, high = item.operands
    (old,) = registers(w, target)
    other_row = int("permlanex16" in item.mnemonic)
    select = f"pair({read_scalar(w, low, 'u32')}, {read_scalar(w, high, 'u32')})"
    flags = f"{other_row}, {list_element(lists, 'op_sel', 0, 0)}, {list_element(lists, 'op_sel', 1, 0)}"
    value = f"permlane16({read_vector(w, source, 'u32')}, exec, {select}, {flags}, {old})"
    w.put("{", *write_vector(w, target, "u32", value), "}")


def _permlane64(w: Writer, item: Instruction) -> None:
    reject_modifiers(item)
    if w.target.wavefront == 64:  # no effect with 32 lanes
        value = f"swapped_halves({read_vector(w, item.operands[1], 'u32')})"
        w.put("{", *write_vector(w, item.operands[0], "u32", value), "}")


def _permute_through_lds(w: Writer, item: Instruction) -> None:
    """ds_bpermute and ds_permute: a lane is a byte offset, as if LDS held 4 bytes of each lane."""
    target, lanes, data = item.operands
    offset = memory_modifiers(item).get("offset", 0)
    function = item.mnemonic.removeprefix("ds_").removesuffix("_b32")
    at = f"{read_vector(w, lanes, 'u32')} + (u32){w.constant(offset)}"
    if w.target.wavefront == 64 and w.target.generation >= 10:  # each half separately
        at = f"((({at}) & 127) | (IOTA & 32) << 2)"
    value = f"{function}(c, exec, {w.here}, {at}, {read_vector(w, data, 'u32')})"
    w.put("{", *write_vector(w, target, "u32", value), "}")


def _swizzle(w: Writer, item: Instruction) -> None:
    target, data = item.operands
    pattern = item.modifiers[0].removeprefix("offset:") if item.modifiers else "0"
    value = f"swizzle({read_vector(w, data, 'u32')}, exec, {_swizzle_bits(pattern)}u)"
    w.put("{", *write_vector(w, target, "u32", value), "}")


def _swizzle_bits(pattern: str) -> int:
    """The 16 bits of a swizzle, from its assembler syntax (RDNA3 ISA, DS_SWIZZLE_B32)."""
    match = re.fullmatch(r"swizzle\((\w+),\s*(.*)\)", pattern)
    if not match:
        return int(pattern, 0)
    mode, rest = match[1], [part.strip() for part in match[2].split(",")]
    if mode == "QUAD_PERM":
        return 0x8000 | sum(int(lane) << 2 * i for i, lane in enumerate(rest))
    if mode == "BITMASK_PERM":
        masks = {"0": (0, 0, 0), "1": (0, 1, 0), "p": (1, 0, 0), "i": (1, 0, 1)}
        fields = [0, 0, 0]
        for letter in rest[0].strip('"'):
            fields = [field << 1 | bit for field, bit in zip(fields, masks[letter], strict=True)]
        return fields[0] | fields[1] << 5 | fields[2] << 10
    size = int(rest[0])
    if mode == "SWAP":
        return 0x1F | size << 10
    if mode == "REVERSE":
        return 0x1F | (size - 1) << 10
    if mode == "BROADCAST":
        return (0x1F & ~(size - 1)) | int(rest[1]) << 5
    raise Unknown(f"swizzle mode {mode}")


CROSS_LANE: dict[str, Callable[[Writer, Instruction], None]] = {
    "v_readlane_b32": _readlane,
    "v_writelane_b32": _writelane,
    "v_swap_b32": _swap,
    "v_permlane16_b32": _permlane,
    "v_permlanex16_b32": _permlane,
    "v_permlane64_b32": _permlane64,
    "v_permlane16_swap_b32": _swap_rows,
    "v_permlane32_swap_b32": _swap_rows,
    "ds_bpermute_b32": _permute_through_lds,
    "ds_permute_b32": _permute_through_lds,
    "ds_swizzle_b32": _swizzle,
}
